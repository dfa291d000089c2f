import { checkMessage, type NewMessage, ROLES, type ToolCall } from "../../../core/message.ts";
import type { Blob } from "../../../core/turn.ts";
import { mapContent } from "./content.ts";
import type { InstantReader } from "./instant-reader.ts";
import { hasLargeNumbers, parseJson } from "./lossless-json.ts";

type MessageFields = Readonly<Record<string, unknown>>;

/** A message as it will be stored, but for an instant that the source does not give. */
export interface MappedMessage {
  readonly message: NewMessage;
  readonly blobs: readonly Blob[];
}

/**
 * One record of a transcript or one row of the database, as a message. What has no place of its own is kept in
 * `extra` under the name it had. Throws a PostriderError when it cannot be stored.
 */
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
    // Said of every row by newer versions; only what was taken back is worth a word.
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
    // Written into the chat by a program that was not asked there.
    ...(rest.mirror === true && { origin: { proactive: true } }),
    ...(Object.keys(extra).length > 0 && { extra }),
  });
  return { message, blobs };
}

/** What a gateway noted about a session at its first turn: tools, model, platform. */
export function findSessionMeta(messages: readonly MappedMessage[]): MessageFields | undefined {
  return messages.find(({ message }) => message.extra?.role === "session_meta")?.message.extra;
}

/** Calls in the form that providers use: `{ id, type: "function", function: { name, arguments } }`. */
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

/** An object when it was valid JSON; the text itself when it was not, or when numbers in it would change. */
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
