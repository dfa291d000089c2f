import { PostriderError } from "../core/errors.ts";
import { type ChatCommand, escapeMarkdown, shortenLine } from "./command.ts";

export const backgroundChatCommand: ChatCommand = {
  name: "background",
  aliases: ["bg"],
  parameters: "PROMPT",
  summary: "have something done in a session of its own; the answer comes here",
  onlyIn: "messenger",
  async run(context, args) {
    if (args === "")
      throw new PostriderError(
        "invalid_input",
        "Write what is to be done, such as /background sum up the news of today.",
      );
    if (context.startBackgroundTask === undefined)
      throw new PostriderError(
        "not_allowed",
        "No answer can be delivered here later. Say it without /background.",
      );
    const { handle } = await context.startBackgroundTask(args);
    return {
      text: `Begun in \`${handle}\`: “${escapeMarkdown(shortenLine(args, 60))}”. The answer comes here.`,
    };
  },
};
