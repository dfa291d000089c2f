import { checkMessage, type NewMessage, ROLES, type ToolCall } from "../../../core/message.ts";
import type { Blob } from "../../../core/turn.ts";
import { contentOf } from "./content.ts";
import type { ReadInstant } from "./instants.ts";
import { hasLargeNumbers, parseJson } from "./lossless-json.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A message as it will be stored, but for an instant that the source does not give. */
export interface Mapped {
  readonly message: NewMessage;
  readonly blobs: readonly Blob[];
}

/**
 * One record of a transcript or one row of the database, as a message. What has no place of its own is kept in
 * `extra` under the name it had. Throws a PostriderError when it cannot be stored.
 */
export function messageFrom(record: Fields, readInstant: ReadInstant): Mapped {
  const { role: saidBy, content, timestamp, tool_calls: calls, tool_name: toolName, ...fields } = record;
  const { tool_call_id: callId, reasoning, finish_reason: finish, token_count: tokens, ...rest } = fields;
  const role = ROLES.find((known) => known === saidBy && known !== "note") ?? "note";
  const at = readInstant(timestamp);
  const { parts, blobs, rest: partRest } = contentOf(content);
  const { toolCalls, callRest } = callsOf(calls);
  const tool = text(toolName) ?? (role === "tool" ? text(rest.name) : undefined);
  const extra = present({
    ...rest,
    // Said of every row by newer versions; only what was taken back is worth a word.
    ...(rest.active === 1 && { active: undefined }),
    ...(role === "tool" && tool === rest.name && { name: undefined }),
    ...(role === "note" && { role: saidBy }),
    ...(at === undefined && { timestamp }),
    ...(text(reasoning) === undefined && reasoning !== "" && { reasoning }),
    ...(!isCount(tokens) && { token_count: tokens }),
    ...(partRest.length > 0 && { content_rest: partRest }),
    ...(callRest.length > 0 && { tool_calls_rest: callRest }),
  });
  const message = checkMessage({
    role,
    parts,
    ...(at !== undefined && { at }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...optional("toolCallId", text(callId)),
    ...optional("toolName", tool),
    ...optional("reasoning", text(reasoning)),
    ...optional("finishReason", text(finish)),
    ...(isCount(tokens) && { tokens }),
    // Written into the chat by a program that was not asked there.
    ...(rest.mirror === true && { origin: { proactive: true } }),
    ...(Object.keys(extra).length > 0 && { extra }),
  });
  return { message, blobs };
}

/** What a gateway noted about a session at its first turn: tools, model, platform. */
export function metaOf(messages: readonly Mapped[]): Fields | undefined {
  return messages.find(({ message }) => message.extra?.role === "session_meta")?.message.extra;
}

/** Calls in the form that providers use: `{ id, type: "function", function: { name, arguments } }`. */
function callsOf(value: unknown): {
  readonly toolCalls: readonly ToolCall[];
  readonly callRest: readonly Fields[];
} {
  if (value === null || value === undefined || value === "") return { toolCalls: [], callRest: [] };
  const toolCalls: ToolCall[] = [];
  const callRest: Fields[] = [];
  for (const [at, item] of (Array.isArray(value) ? value : [value]).entries()) {
    if (typeof item !== "object" || item === null || Array.isArray(item)) {
      callRest.push({ at, value: item });
      continue;
    }
    const { id, type, function: called, name, arguments: given, ...rest } = item as Fields;
    const {
      name: calledName,
      arguments: calledWith,
      ...more
    } = (typeof called === "object" && called !== null ? called : {}) as Fields;
    toolCalls.push({
      id: idText(id) ?? idText(rest.call_id) ?? "",
      name: text(calledName) ?? text(name) ?? "",
      arguments: argumentsOf(calledWith ?? given),
    });
    const left = present({ ...rest, ...more, ...(type !== "function" && { type }) });
    if (Object.keys(left).length > 0) callRest.push({ at, ...left });
  }
  return { toolCalls, callRest };
}

/** An object when it was valid JSON; the text itself when it was not, or when numbers in it would change. */
function argumentsOf(value: unknown): unknown {
  if (typeof value !== "string") return value ?? null;
  try {
    return hasLargeNumbers(value) ? value : parseJson(value);
  } catch {
    return value;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function idText(value: unknown): string | undefined {
  return typeof value === "number" ? String(value) : text(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function present(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}

function optional<Name extends string>(
  name: Name,
  value: string | undefined,
): { readonly [N in Name]?: string } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in Name]?: string };
}
