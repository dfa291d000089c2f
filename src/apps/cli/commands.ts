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
];
