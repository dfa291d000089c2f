import type { ChatCommand } from "./command.ts";

/** What may be given in a place is known only when all commands are: so the table is asked for it. */
export type ListAvailableCommands = (context: Parameters<ChatCommand["run"]>[0]) => readonly ChatCommand[];

export function buildHelpChatCommand(available: ListAvailableCommands): ChatCommand {
  return {
    name: "help",
    aliases: ["commands"],
    summary: "this list",
    isReadOnly: true,
    run: async (context) => ({ text: formatHelp(available(context)) }),
  };
}

export function formatHelp(commands: readonly ChatCommand[]): string {
  return commands
    .map(({ name, parameters, aliases, summary }) => {
      const also = aliases === undefined ? "" : ` (also ${aliases.map((alias) => `/${alias}`).join(", ")})`;
      return `- \`/${name}${parameters === undefined ? "" : ` ${parameters}`}\` ${summary}${also}`;
    })
    .join("\n");
}
