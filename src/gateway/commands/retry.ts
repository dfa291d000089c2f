import { PostriderError } from "../../core/errors.ts";
import { textOf } from "../../core/message.ts";
import { type ChatCommand, escaped, here, shortened } from "./command.ts";

export const retry: ChatCommand = {
  name: "retry",
  summary: "ask your last message again",
  async run(place) {
    const { session } = await here(place);
    const cut = await place.sessions.undo(place.who, session.id).catch((error: unknown) => {
      if (error instanceof PostriderError && error.code === "nothing_to_undo")
        throw new PostriderError("nothing_to_undo", "There is no message to ask again.");
      throw error;
    });
    const say = cut.firstCut === undefined ? "" : textOf(cut.firstCut);
    return { text: `Again: “${escaped(shortened(say))}”`, moved: true, say };
  },
};
