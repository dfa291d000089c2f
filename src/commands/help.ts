import type { ChatCommand } from "./command.ts";

/** What may be given in a place is known only when all commands are: so the table is asked for it. */
export type Available = (place: Parameters<ChatCommand["run"]>[0]) => readonly ChatCommand[];

export function helpOn(available: Available): ChatCommand {
  return {
    name: "help",
    aliases: ["commands"],
    summary: "this list",
    looks: true,
    run: async (place) => ({ text: helpText(available(place)) }),
  };
}

export function helpText(commands: readonly ChatCommand[]): string {
  return commands
    .map(({ name, takes, aliases, summary }) => {
      const also = aliases === undefined ? "" : ` (also ${aliases.map((alias) => `/${alias}`).join(", ")})`;
      return `- \`/${name}${takes === undefined ? "" : ` ${takes}`}\` ${summary}${also}`;
    })
    .join("\n");
}
