import { textOf } from "../../core/message.ts";
import { clockTime } from "../../core/transcript.ts";
import { type ChatCommand, escaped, here, nameOf, plural, shortened } from "./command.ts";
import { distance } from "./when.ts";

export const status: ChatCommand = {
  name: "status",
  summary: "this session at a glance; changes nothing",
  async run(place) {
    const { session } = await here(place);
    const waiting = await place.store.waiting({ asker: place.who, session: session.id });
    const when = (at: number): string => `${clockTime(at, place.zone)} (${distance(at, place.now())})`;
    const lines = [
      `- session ${nameOf(session)}, ${session.id}`,
      `- begun ${when(session.createdAt)}, last spoken ${when(session.lastAt)}`,
      `- ${plural(session.messageCount, "message")}, ${plural(session.usage.totalTokens, "token")}`,
      `- agent ${place.agent}, ${place.talk.isAnswering(session.id) ? "answering" : "idle"}`,
      ...waiting.map((message) => `- waiting: “${escaped(shortened(textOf(message), 60))}”`),
    ];
    return { text: lines.join("\n") };
  },
};
