import type { Message } from "../core/message.ts";

/** About four bytes of English, and about one character of a script that needs three bytes for each. */
const BYTES_PER_TOKEN = 4;
const IMAGE_TOKENS = 1_500;
/** The last exchanges are not summarised, because the next messages refer to them. */
const TAIL_EXCHANGES = 3;

/** Estimates the number of tokens of these messages. */
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
  /** Whether the turn answers this message: then it is not summarised. */
  isInput?(message: Message): boolean;
  /** The limit of the tail before the inputs. */
  readonly maxTokens: number;
}

/**
 * Finds the first message that is not summarised. Exchanges stay whole, and the result of a tool stays with its call.
 */
export function findTailStart(history: readonly Message[], { isInput, maxTokens }: TailOptions): number {
  const input = isInput === undefined ? -1 : history.findIndex(isInput);
  let start = input === -1 ? history.length : input;
  const exchanges = history.flatMap((message, at) => (isExchangeStart(history, message, at) ? [at] : []));
  for (const at of exchanges
    .filter((index) => index < start)
    .slice(-TAIL_EXCHANGES)
    .toReversed()) {
    if (estimateTokens(history.slice(at, input === -1 ? undefined : input)) > maxTokens) break;
    start = at;
  }
  return moveBeforeOpenCalls(history, start);
}

/** One answer replies to several consecutive messages of a person. */
function isExchangeStart(history: readonly Message[], { role }: Message, at: number): boolean {
  return role === "user" && history[at - 1]?.role !== "user";
}

function moveBeforeOpenCalls(history: readonly Message[], start: number): number {
  let from = start;
  for (let at = history.length - 1; at >= from; at -= 1) {
    const { role, toolCallId } = history[at] ?? {};
    if (role !== "tool") continue;
    const call = history
      .slice(0, at)
      .findLastIndex(({ toolCalls }) => toolCalls?.some(({ id }) => id === toolCallId));
    if (call !== -1 && call < from) from = call;
  }
  return from;
}
