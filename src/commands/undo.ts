import { getText } from "../core/message.ts";
import { pluralize } from "../core/pluralize.ts";
import { type ChatCommand, escapeMarkdown, requireCurrent, shortenLine } from "./command.ts";

export const undoChatCommand: ChatCommand = {
  name: "undo",
  aliases: ["rewind"],
  summary: "take back your last message and its answer",
  async run(context) {
    const { session } = await requireCurrent(context);
    const { length, before, firstCut } = await context.sessions.undo(context.who, session.id);
    const what = firstCut === undefined ? "" : `: “${escapeMarkdown(shortenLine(getText(firstCut)))}”`;
    return {
      text: `Took back ${pluralize(before - length, "message")}${what}. /redo puts them back.`,
      moved: true,
    };
  },
};
