import { PostriderError } from "../core/errors.ts";
import { getText } from "../core/message.ts";
import { type ChatCommand, escapeMarkdown, requireCurrent, shortenLine } from "./command.ts";
import { switchSession } from "./switch-session.ts";

export const retryChatCommand: ChatCommand = {
  name: "retry",
  summary: "ask your last message again",
  async run(context) {
    const { session } = await requireCurrent(context);
    const cut = await context.sessions.undo(context.who, session.id).catch((error: unknown) => {
      if (error instanceof PostriderError && error.code === "nothing_to_undo")
        throw new PostriderError("nothing_to_undo", "There is no message to ask again.");
      throw error;
    });
    const say = cut.firstCut === undefined ? "" : getText(cut.firstCut);
    if (say.trim() === "") {
      await context.sessions.redo(context.who, session.id);
      throw new PostriderError(
        "invalid_input",
        "Your last message has no words, so it cannot be asked again.",
      );
    }
    // It is asked again in this session, also when the policy would start afresh with the next message.
    const { conversation, session: current } = await context.chat.open();
    if (current.id !== session.id) await switchSession(context, conversation.number, session);
    return { text: `Again: “${escapeMarkdown(shortenLine(say))}”`, moved: true, say };
  },
};
