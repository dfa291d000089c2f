import { PostriderError } from "../core/errors.ts";
import { type ChatCommand, escapeMarkdown, shortenLine } from "./command.ts";

export const queueChatCommand: ChatCommand = {
  name: "queue",
  parameters: "TEXT",
  summary: "send a message for after this answer, without interrupting it",
  editorRefusal: "What you write while an answer is written waits for its turn here anyway.",
  async run(context, args) {
    if (args === "")
      throw new PostriderError(
        "invalid_input",
        "Write what to say next, such as /queue and then book the train.",
      );
    const current = await context.chat.findCurrent();
    const isBusy = current !== undefined && (await context.chat.isAnswering(current.session.id));
    return {
      text: isBusy ? `Waits for its turn: “${escapeMarkdown(shortenLine(args, 60))}”` : "",
      say: args,
      queued: true,
    };
  },
};
