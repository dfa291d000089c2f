import { type ChatCommand, here, nameOf, plural } from "./command.ts";
import { leaveSession } from "./leave-session.ts";

export const newSession: ChatCommand = {
  name: "new",
  aliases: ["reset", "clear"],
  takes: "[TITLE]",
  summary: "start a new session; the old one stays",
  async run(place, args) {
    const { conversation, session: old } = await here(place);
    const left = await leaveSession(place, conversation.number);
    const { session } = await place.sessions.reset(place.who, conversation.number);
    const titled = args === "" ? session : await place.sessions.title(place.who, session.id, args);
    const back =
      old.messageCount === 0
        ? ""
        : ` The one before, ${nameOf(old)}, is kept with its ${plural(old.messageCount, "message")}. To go back: \`/resume ${old.handle}\``;
    return { text: `New session ${nameOf(titled)}.${back}${left}`, moved: true };
  },
};
