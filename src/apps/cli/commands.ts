import type { Command } from "./command.ts";

/** An entry of the command list. `load` imports the command itself only when it is called. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** An agent's tool may run it, because it reveals no data and changes nothing. Only people may run the others. */
  readonly isForAgents?: true;
  load(): Promise<Command>;
}

/** Every command, in the order of the help. The chat has no name: `postrider` alone starts it. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "",
    summary: "chat in the terminal",
    load: async () => (await import("./chat.ts")).startChatCommand,
  },
  {
    name: "connect telegram",
    summary: "set up a Telegram bot",
    load: async () => (await import("./connect/telegram.ts")).connectTelegramCommand,
  },
  {
    name: "gateway run",
    summary: "answer messages in the connected messengers",
    load: async () => (await import("./gateway/run.ts")).runGatewayCommand,
  },
  {
    name: "gateway status",
    summary: "show whether the gateway runs, and the state of its connections",
    isForAgents: true,
    load: async () => (await import("./gateway/status.ts")).gatewayStatusCommand,
  },
  {
    name: "gateway stop",
    summary: "stop the gateway after it finishes the answers in progress",
    load: async () => (await import("./gateway/stop.ts")).stopGatewayCommand,
  },
  {
    name: "gateway drain",
    summary: "ask a gateway or worker on any machine to hand over its work and to end",
    load: async () => (await import("./gateway/drain.ts")).drainGatewayCommand,
  },
  {
    name: "worker",
    summary: "run the agent for gateways on a shared store",
    load: async () => (await import("./gateway/worker.ts")).runWorkerCommand,
  },
  {
    name: "gateway install",
    summary: "install the gateway as a service",
    load: async () => (await import("./gateway/install.ts")).installGatewayCommand,
  },
  {
    name: "gateway uninstall",
    summary: "remove the service",
    load: async () => (await import("./gateway/install.ts")).uninstallGatewayCommand,
  },
  {
    name: "tail",
    summary: "show the gateway's log",
    load: async () => (await import("./tail.ts")).tailCommand,
  },
  // Before "acp": the first entry that matches wins.
  {
    name: "acp install",
    summary: "set up an editor: zed, jetbrains or neovim",
    load: async () => (await import("./acp/install.ts")).installEditorCommand,
  },
  {
    name: "acp",
    summary: "serve your sessions to an editor (the editor starts this)",
    load: async () => (await import("./acp/serve.ts")).serveEditorCommand,
  },
  {
    name: "backup",
    summary: "copy the database into one file while Postrider runs",
    load: async () => (await import("./backup.ts")).backupCommand,
  },
  {
    name: "restore",
    summary: "restore the database from a backup",
    load: async () => (await import("./restore.ts")).restoreCommand,
  },
  {
    name: "store copy",
    summary: "copy all data to another store: from SQLite to PostgreSQL, or back",
    load: async () => (await import("./store/copy.ts")).copyStoreCommand,
  },
  {
    name: "doctor",
    summary: "check this home for problems, and repair them",
    load: async () => (await import("./doctor.ts")).doctorCommand,
  },
  {
    name: "export-person",
    summary: "export all data of one person to a file",
    load: async () => (await import("./export-person.ts")).exportPersonCommand,
  },
  {
    name: "erase",
    summary: "permanently erase all data of one person",
    load: async () => (await import("./erase.ts")).erasePersonCommand,
  },
  {
    name: "sessions list",
    summary: "list your sessions, newest first",
    load: async () => (await import("./sessions/list.ts")).listSessionsCommand,
  },
  {
    name: "sessions show",
    summary: "show the messages of a session",
    load: async () => (await import("./sessions/show.ts")).showSessionCommand,
  },
  {
    name: "sessions search",
    summary: "search the text of all messages",
    load: async () => (await import("./sessions/search.ts")).searchSessionsCommand,
  },
  {
    name: "sessions browse",
    summary: "choose a session in a full-screen list",
    load: async () => (await import("./sessions/browse.ts")).browseSessionsCommand,
  },
  {
    name: "sessions rename",
    summary: "set the title of a session",
    load: async () => (await import("./sessions/rename.ts")).renameSessionCommand,
  },
  {
    name: "sessions fork",
    summary: "start a new session from an existing one",
    load: async () => (await import("./sessions/fork.ts")).forkSessionCommand,
  },
  {
    name: "sessions export",
    summary: "export sessions to a file",
    load: async () => (await import("./sessions/export.ts")).exportSessionsCommand,
  },
  {
    name: "sessions import",
    summary: "import exported sessions",
    load: async () => (await import("./sessions/import.ts")).importSessionsCommand,
  },
  {
    name: "sessions archive",
    summary: "hide sessions from the list",
    load: async () => (await import("./sessions/archive.ts")).archiveSessionsCommand,
  },
  {
    name: "sessions unarchive",
    summary: "show archived sessions in the list again",
    load: async () => (await import("./sessions/archive.ts")).unarchiveSessionsCommand,
  },
  {
    name: "sessions delete",
    summary: "permanently delete sessions",
    load: async () => (await import("./sessions/delete.ts")).deleteSessionsCommand,
  },
  {
    name: "sessions prune",
    summary: "permanently delete old sessions that have ended",
    load: async () => (await import("./sessions/prune.ts")).pruneSessionsCommand,
  },
  {
    name: "sessions stats",
    summary: "count sessions and messages",
    load: async () => (await import("./sessions/stats.ts")).sessionStatsCommand,
  },
  {
    name: "insights",
    summary: "show messages, tokens and cost of the last days",
    load: async () => (await import("./insights.ts")).insightsCommand,
  },
  // Before "processes": the first entry that matches wins.
  {
    name: "processes log",
    summary: "show the output of a process; -f follows it",
    load: async () => (await import("./processes/log.ts")).showProcessLogCommand,
  },
  {
    name: "processes kill",
    summary: "end a process and all its child processes",
    load: async () => (await import("./processes/kill.ts")).killProcessesCommand,
  },
  {
    name: "processes write",
    summary: "write to the input of a process",
    load: async () => (await import("./processes/write.ts")).writeProcessCommand,
  },
  {
    name: "processes",
    summary: "list background processes",
    load: async () => (await import("./processes/list.ts")).listProcessesCommand,
  },
  {
    name: "explain",
    summary: "explain how a session, key or message got its place",
    load: async () => (await import("./explain.ts")).explainCommand,
  },
  {
    name: "key",
    summary: "show the conversation key of a source",
    isForAgents: true,
    load: async () => (await import("./key.ts")).showKeyCommand,
  },
  {
    name: "pair list",
    summary: "list pending pairing requests and paired people",
    load: async () => (await import("./pair/list.ts")).pairListCommand,
  },
  {
    name: "pair approve",
    summary: "approve a pairing code",
    load: async () => (await import("./pair/approve.ts")).pairApproveCommand,
  },
  {
    name: "pair revoke",
    summary: "revoke a person's access",
    load: async () => (await import("./pair/revoke.ts")).pairRevokeCommand,
  },
  {
    name: "pair link",
    summary: "create a code that links another account to you",
    load: async () => (await import("./pair/link.ts")).pairLinkCommand,
  },
  {
    name: "config show",
    summary: "show the effective settings and their origin",
    load: async () => (await import("./config/show.ts")).showConfigCommand,
  },
  {
    name: "config set",
    summary: "write a setting to this home's config.yaml",
    load: async () => (await import("./config/set.ts")).setConfigCommand,
  },
  {
    name: "config unset",
    summary: "remove a setting from this home's config.yaml",
    load: async () => (await import("./config/set.ts")).unsetConfigCommand,
  },
  {
    name: "config check",
    summary: "list all problems in the configuration, with file and line",
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
    summary: "import the sessions and chats of a Hermes home",
    load: async () => (await import("./import-hermes.ts")).importHermesCommand,
  },
];
