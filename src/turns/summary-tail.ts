import type { Message } from "../core/message.ts";

/** A token is about four bytes of English, and less than a character where each is written with three. */
const BYTES_PER_TOKEN = 4;
const IMAGE_TOKENS = 1_500;
/** What is kept word for word: the last few exchanges, because what comes next is about them. */
const KEPT_EXCHANGES = 3;

/** About how many tokens a model reads in these messages. */
export function estimateTokens(messages: readonly Pick<Message, "parts" | "toolCalls">[]): number {
  let bytes = 0;
  let images = 0;
  for (const { parts, toolCalls } of messages) {
    for (const part of parts) {
      if (part.type === "image") images += 1;
      else if ("text" in part && part.text !== undefined) bytes += Buffer.byteLength(part.text);
    }
    if (toolCalls !== undefined) bytes += Buffer.byteLength(JSON.stringify(toolCalls));
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN) + images * IMAGE_TOKENS;
}

export interface TailOptions {
  /** What must stay word for word: what is about to be answered. */
  isInput?(message: Message): boolean;
  /** How much may stay besides. */
  readonly mostTokens: number;
}

/**
 * The place of the first message that stays when what is before it is summed up. Exchanges stay whole, and no result of
 * a tool is parted from its call.
 */
export function findTailStart(shown: readonly Message[], { isInput, mostTokens }: TailOptions): number {
  const input = isInput === undefined ? -1 : shown.findIndex(isInput);
  let start = input === -1 ? shown.length : input;
  const exchanges = shown.flatMap((message, at) => (isExchangeStart(shown, message, at) ? [at] : []));
  for (const at of exchanges
    .filter((place) => place < start)
    .slice(-KEPT_EXCHANGES)
    .toReversed()) {
    if (estimateTokens(shown.slice(at, input === -1 ? undefined : input)) > mostTokens) break;
    start = at;
  }
  return moveBeforeOpenCalls(shown, start);
}

/** Several messages of a person in a row are answered together. */
function isExchangeStart(shown: readonly Message[], { role }: Message, at: number): boolean {
  return role === "user" && shown[at - 1]?.role !== "user";
}

function moveBeforeOpenCalls(shown: readonly Message[], start: number): number {
  let from = start;
  for (let at = shown.length - 1; at >= from; at -= 1) {
    const { role, toolCallId } = shown[at] ?? {};
    if (role !== "tool") continue;
    const call = shown
      .slice(0, at)
      .findLastIndex(({ toolCalls }) => toolCalls?.some(({ id }) => id === toolCallId));
    if (call !== -1 && call < from) from = call;
  }
  return from;
}
