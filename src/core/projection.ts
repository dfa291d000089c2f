import { getText, type Message, type ToolCall, textPart } from "./message.ts";

/** The result that a model gets for a call without a stored result. */
export const NO_RESULT = "interrupted: no result was recorded";

/**
 * The messages in a form that every provider accepts: each tool call has exactly one result, directly after the message with
 * the calls and in their order. Stored messages do not change, so an interrupted call never makes a session unusable.
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
      // The first result wins. A later one is a duplicate or belongs to a call that is not shown any more.
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

/** A message with tool calls, until the next message. */
interface OpenCalls {
  readonly message: Message;
  readonly calls: readonly ToolCall[];
  /** By call id; null until the result arrives. */
  readonly results: Map<string, Message | null>;
  /** Notes from while the tools ran. They follow the results, which must directly follow their calls. */
  readonly notes: Message[];
}

function startCalls(message: Message, calls: readonly ToolCall[]): OpenCalls {
  return { message, calls, results: new Map(calls.map(({ id }) => [id, null])), notes: [] };
}

function closeCalls({ message, calls, results, notes }: OpenCalls): Message[] {
  const answers = calls.map((call) => results.get(call.id) ?? buildMissingResult(message, call));
  return [message, ...answers, ...notes];
}

/** This result was never stored, so it uses the seq and time of the message with the call. */
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

/** Keeps calls of an assistant with a name and a unique id. Returns the same object if all calls are valid. */
function dropInvalidCalls(message: Message): Message {
  if (message.toolCalls === undefined) return message;
  const seen = new Set<string>();
  const valid = message.toolCalls.filter(({ id, name }) => {
    const isValid = message.role === "assistant" && id !== "" && name !== "" && !seen.has(id);
    if (isValid) seen.add(id);
    return isValid;
  });
  if (valid.length === message.toolCalls.length) return message;
  const { toolCalls: _, ...rest } = message;
  return valid.length === 0 ? rest : { ...rest, toolCalls: valid };
}

/** Providers reject an assistant message without content. A note without text has no use. */
function isWorthSending(message: Message): boolean {
  if (message.role === "note") return getText(message) !== "";
  if (message.role !== "assistant" || (message.toolCalls?.length ?? 0) > 0) return true;
  return message.parts.some((part) => part.type !== "text" || part.text !== "");
}
