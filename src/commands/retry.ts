import { PostriderError } from "../core/errors.ts";
import { getText } from "../core/message.ts";
import { type ChatCommand, escapeMarkdown, requireCurrent, shortenLine } from "./command.ts";
import { switchSession } from "./switch-session.ts";

export const retryChatCommand: ChatCommand = {
  name: "retry",
  summary: "ask your last message again",
  async run(place) {
    const { session } = await requireCurrent(place);
    const cut = await place.sessions.undo(place.who, session.id).catch((error: unknown) => {
      if (error instanceof PostriderError && error.code === "nothing_to_undo")
        throw new PostriderError("nothing_to_undo", "There is no message to ask again.");
      throw error;
    });
    const say = cut.firstCut === undefined ? "" : getText(cut.firstCut);
    if (say.trim() === "") {
      await place.sessions.redo(place.who, session.id);
      throw new PostriderError(
        "invalid_input",
        "Your last message has no words, so it cannot be asked again.",
      );
    }
    // It is asked again in this session, also when the policy would start afresh with the next message.
    const { conversation, session: current } = await place.chat.open();
    if (current.id !== session.id) await switchSession(place, conversation.number, session);
    return { text: `Again: “${escapeMarkdown(shortenLine(say))}”`, moved: true, say };
  },
};
