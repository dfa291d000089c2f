import { getText, type Message, type ToolCall, textPart } from "./message.ts";

/** What a model is told about a call whose result was never stored. */
export const NO_RESULT = "interrupted: no result was recorded";

/**
 * The messages as every provider accepts them, whatever was stored: each tool call has exactly one result, which
 * stands directly after the message that called, in the order of the calls; no result stands anywhere else. What
 * was said is not touched; this is made anew for each request, so one killed call can never spoil a session.
 */
export function providerHistory(messages: readonly Message[]): Message[] {
  const result: Message[] = [];
  let open: OpenCalls | undefined;
  const close = (): void => {
    if (open !== undefined) result.push(...closeCalls(open));
    open = undefined;
  };
  for (const stored of messages) {
    const message = dropInvalidCalls(stored);
    if (message.role === "tool") {
      // First wins: a later one is a repetition, or answers a call that nobody sees any more.
      const id = message.toolCallId ?? "";
      if (open?.results.get(id) === null) open.results.set(id, message);
    } else if (!isWorthSending(message)) {
    } else if (message.role === "note" && open !== undefined) {
      open.notes.push(message);
    } else {
      close();
      if (message.toolCalls === undefined || message.toolCalls.length === 0) result.push(message);
      else open = startCalls(message, message.toolCalls);
    }
  }
  close();
  return result;
}

/** A message that called tools, until the next one speaks. */
interface OpenCalls {
  readonly message: Message;
  readonly calls: readonly ToolCall[];
  /** By call id; null until it came. */
  readonly results: Map<string, Message | null>;
  /** What was noted while the tools ran. It goes behind the results, which nothing may part from their calls. */
  readonly notes: Message[];
}

function startCalls(message: Message, calls: readonly ToolCall[]): OpenCalls {
  return { message, calls, results: new Map(calls.map(({ id }) => [id, null])), notes: [] };
}

function closeCalls({ message, calls, results, notes }: OpenCalls): Message[] {
  const answers = calls.map((call) => results.get(call.id) ?? buildMissingResult(message, call));
  return [message, ...answers, ...notes];
}

/** It never was a row, so it borrows the place and time of the message that called. */
function buildMissingResult({ session, seq, at }: Message, call: ToolCall): Message {
  return {
    session,
    seq,
    at,
    role: "tool",
    parts: [textPart(NO_RESULT)],
    toolCallId: call.id,
    toolName: call.name,
    origin: { interrupted: true },
  };
}

/** Only an assistant calls, by an id and a name, and by each id once. The same object if nothing is wrong. */
function dropInvalidCalls(message: Message): Message {
  if (message.toolCalls === undefined) return message;
  const seen = new Set<string>();
  const valid = message.toolCalls.filter(({ id, name }) => {
    const good = message.role === "assistant" && id !== "" && name !== "" && !seen.has(id);
    if (good) seen.add(id);
    return good;
  });
  if (valid.length === message.toolCalls.length) return message;
  const { toolCalls: _, ...rest } = message;
  return valid.length === 0 ? rest : { ...rest, toolCalls: valid };
}

/** An assistant that says and calls nothing is refused by providers; a note without words tells them nothing. */
function isWorthSending(message: Message): boolean {
  if (message.role === "note") return getText(message) !== "";
  if (message.role !== "assistant" || (message.toolCalls?.length ?? 0) > 0) return true;
  return message.parts.some((part) => part.type !== "text" || part.text !== "");
}
