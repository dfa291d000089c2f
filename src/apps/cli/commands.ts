import type { Command } from "./command.ts";

/** A command that is not loaded before it is called: what the list of commands needs, and where the rest is. */
export interface Entry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

/** Every command, in the order of the help. The chat has no name: it is what `postrider` alone does. */
export const COMMANDS: readonly Entry[] = [
  { name: "", summary: "talk in the terminal", load: async () => (await import("./chat.ts")).chat },
  {
    name: "backup",
    summary: "copy everything into one file, while Postrider goes on working",
    load: async () => (await import("./backup.ts")).backup,
  },
  {
    name: "restore",
    summary: "make a copy the database of this home",
    load: async () => (await import("./restore.ts")).restore,
  },
  {
    name: "doctor",
    summary: "check that everything is as it should be, and mend it",
    load: async () => (await import("./doctor.ts")).doctor,
  },
  {
    name: "export-person",
    summary: "write everything of one person into a file",
    load: async () => (await import("./export-person.ts")).exportPerson,
  },
  {
    name: "erase",
    summary: "erase everything of one person, for good",
    load: async () => (await import("./erase.ts")).erase,
  },
  {
    name: "sessions list",
    summary: "your sessions, the latest first",
    load: async () => (await import("./sessions/list.ts")).list,
  },
  {
    name: "sessions show",
    summary: "what was said in a session",
    load: async () => (await import("./sessions/show.ts")).show,
  },
  {
    name: "sessions search",
    summary: "find words in everything that was said",
    load: async () => (await import("./sessions/search.ts")).search,
  },
  {
    name: "sessions browse",
    summary: "choose a session on a full screen",
    load: async () => (await import("./sessions/browse.ts")).browse,
  },
  {
    name: "sessions rename",
    summary: "give a session a title",
    load: async () => (await import("./sessions/rename.ts")).rename,
  },
  {
    name: "sessions fork",
    summary: "go two ways from one session",
    load: async () => (await import("./sessions/fork.ts")).fork,
  },
  {
    name: "sessions export",
    summary: "write sessions into a file",
    load: async () => (await import("./sessions/export.ts")).exportSessions,
  },
  {
    name: "sessions import",
    summary: "take in exported sessions",
    load: async () => (await import("./sessions/import.ts")).importSessions,
  },
  {
    name: "sessions archive",
    summary: "put sessions away",
    load: async () => (await import("./sessions/archive.ts")).archive,
  },
  {
    name: "sessions unarchive",
    summary: "list them again",
    load: async () => (await import("./sessions/archive.ts")).unarchive,
  },
  {
    name: "sessions delete",
    summary: "remove sessions for good",
    load: async () => (await import("./sessions/delete.ts")).remove,
  },
  {
    name: "sessions prune",
    summary: "remove ended sessions that are old",
    load: async () => (await import("./sessions/prune.ts")).prune,
  },
  {
    name: "sessions stats",
    summary: "how much there is",
    load: async () => (await import("./sessions/stats.ts")).stats,
  },
  {
    name: "explain",
    summary: "why a session, key or message is where it is",
    load: async () => (await import("./explain.ts")).explain,
  },
  {
    name: "key",
    summary: "the key that a source gets",
    load: async () => (await import("./key.ts")).key,
  },
  {
    name: "import hermes",
    summary: "take over the sessions and chats of a Hermes home",
    load: async () => (await import("./import-hermes.ts")).importHermesCommand,
  },
];
