import { pluralize } from "../core/pluralize.ts";
import { type ChatCommand, requireCurrent } from "./command.ts";

export const redoChatCommand: ChatCommand = {
  name: "redo",
  summary: "put back what /undo took",
  async run(place) {
    const { session } = await requireCurrent(place);
    const { length, before } = await place.sessions.redo(place.who, session.id);
    return { text: `Put back ${pluralize(length - before, "message")}.`, moved: true };
  },
};
