import { type ChatCommand, escapeMarkdown } from "./command.ts";
import { formatHelp, type ListAvailableCommands } from "./help.ts";
import { linkByCode } from "./pair.ts";

/** What messengers send when somebody opens the chat for the first time, with the code of a link that led there. */
export function buildStartChatCommand(available: ListAvailableCommands): ChatCommand {
  return {
    name: "start",
    parameters: "[CODE]",
    summary: "say hello, and what can be done here",
    onlyIn: "messenger",
    async run(context, args) {
      if (args !== "") return linkByCode(context, args);
      const { userName } = context.source;
      const hello = userName === undefined ? "Hello." : `Hello, ${escapeMarkdown(userName)}.`;
      return {
        text: `${hello} Say something, and ${escapeMarkdown(context.agent.name)} answers.\n\n${formatHelp(available(context))}`,
      };
    },
  };
}
