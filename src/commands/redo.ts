import { pluralize } from "../core/pluralize.ts";
import { type ChatCommand, requireCurrent } from "./command.ts";

export const redoChatCommand: ChatCommand = {
  name: "redo",
  summary: "put back what /undo took",
  async run(context) {
    const { session } = await requireCurrent(context);
    const { length, before } = await context.sessions.redo(context.who, session.id);
    return { text: `Put back ${pluralize(length - before, "message")}.`, moved: true };
  },
};
