import { checkMessage, type NewMessage, ROLES, type ToolCall } from "../../../core/message.ts";
import type { Blob } from "../../../core/turn.ts";
import { mapContent } from "./content.ts";
import type { InstantReader } from "./instant-reader.ts";
import { hasLargeNumbers, parseJson } from "./lossless-json.ts";

type MessageFields = Readonly<Record<string, unknown>>;

/** A message to store. The time is absent if the source has none. */
export interface MappedMessage {
  readonly message: NewMessage;
  readonly blobs: readonly Blob[];
}

/** Maps a transcript record or a database row to a message. Unknown fields go to `extra`. Throws if it cannot be stored. */
export function mapMessage(record: MessageFields, readInstant: InstantReader): MappedMessage {
  const { role: saidBy, content, timestamp, tool_calls: calls, tool_name: toolName, ...fields } = record;
  const { tool_call_id: callId, reasoning, finish_reason: finish, token_count: tokens, ...rest } = fields;
  const role = ROLES.find((known) => known === saidBy && known !== "note") ?? "note";
  const at = readInstant(timestamp);
  const { parts, blobs, rest: partRest } = mapContent(content);
  const { toolCalls, callRest } = mapToolCalls(calls);
  const tool = toText(toolName) ?? (role === "tool" ? toText(rest.name) : undefined);
  const extra = dropEmpty({
    ...rest,
    // Newer versions set it on every row; only inactive rows matter.
    ...(rest.active === 1 && { active: undefined }),
    ...(role === "tool" && tool === rest.name && { name: undefined }),
    ...(role === "note" && { role: saidBy }),
    ...(at === undefined && { timestamp }),
    ...(toText(reasoning) === undefined && reasoning !== "" && { reasoning }),
    ...(!isCount(tokens) && { token_count: tokens }),
    ...(partRest.length > 0 && { content_rest: partRest }),
    ...(callRest.length > 0 && { tool_calls_rest: callRest }),
  });
  const message = checkMessage({
    role,
    parts,
    ...(at !== undefined && { at }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...toOptionalField("toolCallId", toText(callId)),
    ...toOptionalField("toolName", tool),
    ...toOptionalField("reasoning", toText(reasoning)),
    ...toOptionalField("finishReason", toText(finish)),
    ...(isCount(tokens) && { tokens }),
    // A program sent this to the chat without a question.
    ...(rest.mirror === true && { origin: { proactive: true } }),
    ...(Object.keys(extra).length > 0 && { extra }),
  });
  return { message, blobs };
}

/** The metadata that a gateway recorded at the first turn: tools, model, platform. */
export function findSessionMeta(messages: readonly MappedMessage[]): MessageFields | undefined {
  return messages.find(({ message }) => message.extra?.role === "session_meta")?.message.extra;
}

/** Maps tool calls in the format of providers: `{ id, type: "function", function: { name, arguments } }`. */
function mapToolCalls(value: unknown): {
  readonly toolCalls: readonly ToolCall[];
  readonly callRest: readonly MessageFields[];
} {
  if (value === null || value === undefined || value === "") return { toolCalls: [], callRest: [] };
  const toolCalls: ToolCall[] = [];
  const callRest: MessageFields[] = [];
  for (const [at, item] of (Array.isArray(value) ? value : [value]).entries()) {
    if (typeof item !== "object" || item === null || Array.isArray(item)) {
      callRest.push({ at, value: item });
      continue;
    }
    const { id, type, function: called, name, arguments: given, ...rest } = item as MessageFields;
    const {
      name: calledName,
      arguments: calledWith,
      ...more
    } = (typeof called === "object" && called !== null ? called : {}) as MessageFields;
    toolCalls.push({
      id: toIdText(id) ?? toIdText(rest.call_id) ?? "",
      name: toText(calledName) ?? toText(name) ?? "",
      arguments: parseCallArguments(calledWith ?? given),
    });
    const left = dropEmpty({ ...rest, ...more, ...(type !== "function" && { type }) });
    if (Object.keys(left).length > 0) callRest.push({ at, ...left });
  }
  return { toolCalls, callRest };
}

/** Parses the arguments, or keeps the text if it is invalid JSON or if numbers would change. */
function parseCallArguments(value: unknown): unknown {
  if (typeof value !== "string") return value ?? null;
  try {
    return hasLargeNumbers(value) ? value : parseJson(value);
  } catch {
    return value;
  }
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function toIdText(value: unknown): string | undefined {
  return typeof value === "number" ? String(value) : toText(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function dropEmpty(fields: MessageFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}

function toOptionalField<Name extends string>(
  name: Name,
  value: string | undefined,
): { readonly [N in Name]?: string } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in Name]?: string };
}
