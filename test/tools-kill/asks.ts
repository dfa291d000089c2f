import type { Witnessed } from "../gateway/protocol.ts";
import { marksIn, SETTLE } from "./errands.ts";

/** A message of the bot in a chat; none of these is edited. */
export type Sent = Extract<Witnessed, { readonly kind: "sent" }>;

export function sentIn(witnessed: readonly Witnessed[], chat?: string): readonly Sent[] {
  return witnessed.filter(
    (event): event is Sent => event.kind === "sent" && (chat === undefined || event.chat === chat),
  );
}

/** A request of a person, and the replies to it. */
export interface Ask {
  /** As its answer repeats it. */
  readonly mark: string;
  /** The errand; absent for plain text. */
  readonly name?: string;
  readonly seq: number;
  readonly at: number;
  /** A command of the chat that may have taken effect, as its notice says. */
  isUnclear: boolean;
  answer?: Sent;
  notice?: Sent;
}

/** The requests in one chat, in order. */
export function asksIn(chat: string, witnessed: readonly Witnessed[]): Ask[] {
  const asks: Ask[] = [];
  for (const event of witnessed) {
    if (event.kind !== "said" || event.chat !== chat) continue;
    const { seq, at, text } = event;
    const [found] = marksIn(text);
    const last = asks.findLast(({ name }) => name !== undefined);
    if (found !== undefined) asks.push({ ...found, seq, at, isUnclear: false });
    else if (text.startsWith(SETTLE)) asks.push({ mark: text, seq, at, isUnclear: false });
    else if (text === "/retry" && last !== undefined)
      asks.push({
        mark: last.mark,
        ...(last.name !== undefined && { name: last.name }),
        seq,
        at,
        isUnclear: false,
      });
  }
  return asks;
}
