import type { Command } from "./command.ts";

/** A command that is not loaded before it is called: what the list of commands needs, and where the rest is. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** An agent's tool may run it: it reveals nobody's data and changes nothing. All others are for people alone. */
  readonly isForAgents?: true;
  load(): Promise<Command>;
}

/** Every command, in the order of the help. The chat has no name: it is what `postrider` alone does. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "",
    summary: "talk in the terminal",
    load: async () => (await import("./chat.ts")).startChatCommand,
  },
  {
    name: "connect telegram",
    summary: "set up a Telegram bot",
    load: async () => (await import("./connect/telegram.ts")).connectTelegramCommand,
  },
  {
    name: "gateway run",
    summary: "answer in the messengers that are set up",
    load: async () => (await import("./gateway/run.ts")).runGatewayCommand,
  },
  {
    name: "gateway status",
    summary: "whether it runs, and how its connections are",
    isForAgents: true,
    load: async () => (await import("./gateway/status.ts")).gatewayStatusCommand,
  },
  {
    name: "gateway stop",
    summary: "let it come to its end",
    load: async () => (await import("./gateway/stop.ts")).stopGatewayCommand,
  },
  {
    name: "gateway install",
    summary: "make it a service of this machine",
    load: async () => (await import("./gateway/install.ts")).installGatewayCommand,
  },
  {
    name: "gateway uninstall",
    summary: "no service any more",
    load: async () => (await import("./gateway/install.ts")).uninstallGatewayCommand,
  },
  {
    name: "tail",
    summary: "the gateway's log",
    load: async () => (await import("./tail.ts")).tailCommand,
  },
  // Before "acp", whose name it begins with: the first that fits is taken.
  {
    name: "acp install",
    summary: "set up an editor: zed, jetbrains or neovim",
    load: async () => (await import("./acp/install.ts")).installEditorCommand,
  },
  {
    name: "acp",
    summary: "your sessions in an editor, which starts this by itself",
    load: async () => (await import("./acp/serve.ts")).serveEditorCommand,
  },
  {
    name: "backup",
    summary: "copy everything into one file, while Postrider goes on working",
    load: async () => (await import("./backup.ts")).backupCommand,
  },
  {
    name: "restore",
    summary: "make a copy the database of this home",
    load: async () => (await import("./restore.ts")).restoreCommand,
  },
  {
    name: "doctor",
    summary: "check that everything is as it should be, and mend it",
    load: async () => (await import("./doctor.ts")).doctorCommand,
  },
  {
    name: "export-person",
    summary: "write everything of one person into a file",
    load: async () => (await import("./export-person.ts")).exportPersonCommand,
  },
  {
    name: "erase",
    summary: "erase everything of one person, for good",
    load: async () => (await import("./erase.ts")).erasePersonCommand,
  },
  {
    name: "sessions list",
    summary: "your sessions, the latest first",
    load: async () => (await import("./sessions/list.ts")).listSessionsCommand,
  },
  {
    name: "sessions show",
    summary: "what was said in a session",
    load: async () => (await import("./sessions/show.ts")).showSessionCommand,
  },
  {
    name: "sessions search",
    summary: "find words in everything that was said",
    load: async () => (await import("./sessions/search.ts")).searchSessionsCommand,
  },
  {
    name: "sessions browse",
    summary: "choose a session on a full screen",
    load: async () => (await import("./sessions/browse.ts")).browseSessionsCommand,
  },
  {
    name: "sessions rename",
    summary: "give a session a title",
    load: async () => (await import("./sessions/rename.ts")).renameSessionCommand,
  },
  {
    name: "sessions fork",
    summary: "go two ways from one session",
    load: async () => (await import("./sessions/fork.ts")).forkSessionCommand,
  },
  {
    name: "sessions export",
    summary: "write sessions into a file",
    load: async () => (await import("./sessions/export.ts")).exportSessionsCommand,
  },
  {
    name: "sessions import",
    summary: "take in exported sessions",
    load: async () => (await import("./sessions/import.ts")).importSessionsCommand,
  },
  {
    name: "sessions archive",
    summary: "put sessions away",
    load: async () => (await import("./sessions/archive.ts")).archiveSessionsCommand,
  },
  {
    name: "sessions unarchive",
    summary: "list them again",
    load: async () => (await import("./sessions/archive.ts")).unarchiveSessionsCommand,
  },
  {
    name: "sessions delete",
    summary: "remove sessions for good",
    load: async () => (await import("./sessions/delete.ts")).deleteSessionsCommand,
  },
  {
    name: "sessions prune",
    summary: "remove ended sessions that are old",
    load: async () => (await import("./sessions/prune.ts")).pruneSessionsCommand,
  },
  {
    name: "sessions stats",
    summary: "how much there is",
    load: async () => (await import("./sessions/stats.ts")).sessionStatsCommand,
  },
  {
    name: "insights",
    summary: "what was said and used in the last days, with tokens and cost",
    load: async () => (await import("./insights.ts")).insightsCommand,
  },
  // Before "processes", whose name they begin with: the first that fits is taken.
  {
    name: "processes log",
    summary: "what one has printed; -f goes on",
    load: async () => (await import("./processes/log.ts")).showProcessLogCommand,
  },
  {
    name: "processes kill",
    summary: "end one, and everything it has started",
    load: async () => (await import("./processes/kill.ts")).killProcessesCommand,
  },
  {
    name: "processes write",
    summary: "type into one that waits for something",
    load: async () => (await import("./processes/write.ts")).writeProcessCommand,
  },
  {
    name: "processes",
    summary: "what runs in the background",
    load: async () => (await import("./processes/list.ts")).listProcessesCommand,
  },
  {
    name: "explain",
    summary: "why a session, key or message is where it is",
    load: async () => (await import("./explain.ts")).explainCommand,
  },
  {
    name: "key",
    summary: "the key that a source gets",
    isForAgents: true,
    load: async () => (await import("./key.ts")).showKeyCommand,
  },
  {
    name: "pair list",
    summary: "who asks to be let in, and who was",
    load: async () => (await import("./pair/list.ts")).pairListCommand,
  },
  {
    name: "pair approve",
    summary: "let in whoever has this code",
    load: async () => (await import("./pair/approve.ts")).pairApproveCommand,
  },
  {
    name: "pair revoke",
    summary: "let somebody in no more",
    load: async () => (await import("./pair/revoke.ts")).pairRevokeCommand,
  },
  {
    name: "pair link",
    summary: "a code that makes an account elsewhere yours",
    load: async () => (await import("./pair/link.ts")).pairLinkCommand,
  },
  {
    name: "config show",
    summary: "the settings that count, and where each comes from",
    load: async () => (await import("./config/show.ts")).showConfigCommand,
  },
  {
    name: "config set",
    summary: "write a setting into this home's file",
    load: async () => (await import("./config/set.ts")).setConfigCommand,
  },
  {
    name: "config unset",
    summary: "take a setting out of it",
    load: async () => (await import("./config/set.ts")).unsetConfigCommand,
  },
  {
    name: "config check",
    summary: "everything that is wrong with the settings, line by line",
    load: async () => (await import("./config/check.ts")).checkConfigCommand,
  },
  {
    name: "plugins list",
    summary: "the plugins of this home, and what each adds",
    load: async () => (await import("./plugins/list.ts")).listPluginsCommand,
  },
  {
    name: "plugins check",
    summary: "every plugin that cannot be used, and why",
    load: async () => (await import("./plugins/check.ts")).checkPluginsCommand,
  },
  {
    name: "import hermes",
    summary: "take over the sessions and chats of a Hermes home",
    load: async () => (await import("./import-hermes.ts")).importHermesCommand,
  },
];
