import { plural } from "../core/plural.ts";
import { type ChatCommand, here } from "./command.ts";

export const redo: ChatCommand = {
  name: "redo",
  summary: "put back what /undo took",
  async run(place) {
    const { session } = await here(place);
    const { length, before } = await place.sessions.redo(place.who, session.id);
    return { text: `Put back ${plural(length - before, "message")}.`, moved: true };
  },
};
