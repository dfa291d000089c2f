import { textOf } from "../core/message.ts";
import { plural } from "../core/plural.ts";
import { type ChatCommand, escaped, here, shortened } from "./command.ts";

export const undo: ChatCommand = {
  name: "undo",
  aliases: ["rewind"],
  summary: "take back your last message and its answer",
  async run(place) {
    const { session } = await here(place);
    const { length, before, firstCut } = await place.sessions.undo(place.who, session.id);
    const what = firstCut === undefined ? "" : `: “${escaped(shortened(textOf(firstCut)))}”`;
    return {
      text: `Took back ${plural(before - length, "message")}${what}. /redo puts them back.`,
      moved: true,
    };
  },
};
