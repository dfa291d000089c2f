import { PostriderError } from "../core/errors.ts";
import { type Message, textOf } from "../core/message.ts";
import { plural } from "../core/plural.ts";
import { clockTime } from "../core/transcript.ts";
import { type ChatCommand, escaped, here, type Place, shortened } from "./command.ts";
import { messageIn, named } from "./named.ts";

const SHOWN = 10;

export const history: ChatCommand = {
  name: "history",
  takes: "[COUNT | HANDLE/MESSAGE]",
  summary: "what was said here, or around a message found by /search",
  looks: true,
  async run(place, args) {
    const [, handle, seq] = /^(\S+)\/(\d{1,8})$/.exec(args) ?? [];
    if (handle !== undefined) {
      const session = await named(place, handle);
      return { text: "", around: { session: session.id, seq: messageIn(session, Number(seq)) } };
    }
    if (args !== "" && !/^[1-9]\d{0,4}$/.test(args)) {
      throw new PostriderError("invalid_input", "Write how many messages to show, such as /history 20.");
    }
    return { text: await lastMessages(place, args === "" ? SHOWN : Number(args)) };
  },
};

async function lastMessages(place: Place, count: number): Promise<string> {
  const { session } = await here(place);
  const length = (await place.sessions.shownLength(place.who, session.id)) ?? 0;
  if (length === 0) return "Nothing has been said here yet.";
  const offset = Math.max(0, length - count);
  const shown = (await place.sessions.history(place.who, session.id, { offset })) ?? [];
  const before = offset === 0 ? [] : [`… ${plural(offset, "message")} before`];
  return [...before, ...shown.map((message) => messageLine(message, place.zone))].join("\n\n");
}

const SPEAKER = { user: "you", assistant: "agent", tool: "tool", note: "note" } as const;

/** One message in short: who, when, and the first words. */
export function messageLine(message: Message, zone: string): string {
  const calls = message.toolCalls?.map(({ name }) => `[${name}]`).join(" ") ?? "";
  const files = message.parts.flatMap((part) => (part.type === "text" ? [] : [`[${part.type}]`])).join(" ");
  const said = [shortened(textOf(message), 300), files, calls].filter(Boolean).join(" ");
  const stopped = message.origin?.interrupted === true ? " (stopped)" : "";
  return `\`${message.seq}\` **${SPEAKER[message.role]}** ${clockTime(message.at, zone)}${stopped}: ${escaped(said)}`;
}
