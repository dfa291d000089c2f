import { getText } from "../core/message.ts";
import { pluralize } from "../core/pluralize.ts";
import { type ChatCommand, escapeMarkdown, requireCurrent, shortenLine } from "./command.ts";

export const undoChatCommand: ChatCommand = {
  name: "undo",
  aliases: ["rewind"],
  summary: "take back your last message and its answer",
  async run(place) {
    const { session } = await requireCurrent(place);
    const { length, before, firstCut } = await place.sessions.undo(place.who, session.id);
    const what = firstCut === undefined ? "" : `: “${escapeMarkdown(shortenLine(getText(firstCut)))}”`;
    return {
      text: `Took back ${pluralize(before - length, "message")}${what}. /redo puts them back.`,
      moved: true,
    };
  },
};
