import { PostriderError } from "./errors.ts";
import type { ListedSession } from "./listing.ts";
import type { Message, MessageOrigin, NewMessage, Part, ToolCall } from "./message.ts";
import type { Session } from "./session.ts";
import type { SessionContext } from "./session-context.ts";
import { sourceToJson } from "./source.ts";
import {
  addUsage,
  emptyUsage,
  USAGE_PURPOSES,
  type Usage,
  type UsageDelta,
  type UsageEntry,
  type UsagePurpose,
} from "./usage.ts";

/**
 * Converts between snake_case JSON and camelCase TypeScript. Renames only Postrider's own fields; opaque data (`extra`,
 * `config`, tool arguments) stays unchanged.
 */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Maps JSON names to TypeScript names. */
type Names<T> = Readonly<Record<string, keyof T & string>>;

const SESSION: Names<Session> = {
  id: "id",
  handle: "handle",
  kind: "kind",
  profile: "profile",
  owner: "owner",
  audience: "audience",
  title: "title",
  display_name: "displayName",
  cwd: "cwd",
  config: "config",
  message_count: "messageCount",
  human_count: "humanCount",
  tool_call_count: "toolCallCount",
  created_at: "createdAt",
  updated_at: "lastAt",
  ended_at: "endedAt",
  end_reason: "endReason",
  archived_at: "archivedAt",
  parent_session_id: "parent",
};

const USAGE: Names<Usage> = {
  input_tokens: "inputTokens",
  output_tokens: "outputTokens",
  cache_read_tokens: "cacheReadTokens",
  cache_write_tokens: "cacheWriteTokens",
  reasoning_tokens: "reasoningTokens",
  total_tokens: "totalTokens",
  last_prompt_tokens: "lastPromptTokens",
  estimated_cost_usd: "costUsd",
  cost_status: "costStatus",
  cost_source: "costSource",
  model: "model",
  billing_provider: "provider",
  billing_base_url: "baseUrl",
};

/** All fields of a session, null for absent ones. Times are epoch milliseconds. */
export function sessionToJson(session: Session | ListedSession): Record<string, unknown> {
  const { origin } = session;
  return {
    ...toJson(session, SESSION),
    origin: origin === undefined ? null : sourceToJson(origin),
    platform: origin?.platform ?? null,
    chat_type: origin?.chatType ?? null,
    ...usageToJson(session.usage),
    ...("preview" in session && { preview: session.preview, total_count: session.totalCount }),
  };
}

/** The context of an agent. The `session_*` fields and times are null without a session. */
export function sessionContextToJson(context: SessionContext): Record<string, unknown> {
  const { source, shared = false, connectedPlatforms, homeChannels, entry } = context;
  return {
    source: sourceToJson(source),
    shared,
    connected_platforms: connectedPlatforms,
    home_channels: homeChannels.map(({ platform, chatId, name }) => ({ platform, chat_id: chatId, name })),
    session_key: entry?.key ?? null,
    session_id: entry?.sessionId ?? null,
    created_at: entry?.createdAt ?? null,
    updated_at: entry?.updatedAt ?? null,
  };
}

export function usageToJson(usage: Usage): Record<string, unknown> {
  return toJson(usage, USAGE);
}

const USAGE_TEXTS = ["cost_status", "cost_source", "model", "billing_provider", "billing_base_url"] as const;

/** Reads the counters of a session's JSON. The total is computed, not read. */
export function usageFromJson(json: JsonObject): Usage {
  for (const name of USAGE_TEXTS) textFromJson(json, name);
  return addUsage(emptyUsage(), fromJson(json, USAGE) as UsageDelta);
}

const COUNTERS = [
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
  "total_tokens",
  "estimated_cost_usd",
  "cost_status",
  "cost_source",
] as const;

/** Only the counters, for a sum without its own model and last prompt. */
export function countersToJson(usage: Usage): Record<string, unknown> {
  const json = usageToJson(usage);
  return Object.fromEntries(COUNTERS.map((name) => [name, json[name]]));
}

export function usageEntryToJson({ at, purpose, usage }: UsageEntry): Record<string, unknown> {
  const { model = null, provider = null } = usage;
  return { at, purpose, ...countersToJson(usage), model, billing_provider: provider };
}

export function usageEntryFromJson(json: unknown, field: string): UsageEntry {
  const entry = expectObject(json, field);
  const purpose = USAGE_PURPOSES.find((known): known is UsagePurpose => known === entry.purpose);
  if (purpose === undefined) throw invalidField(`${field}.purpose`, `one of ${USAGE_PURPOSES.join(", ")}`);
  const at = instantFromJson(entry, "at");
  if (at === undefined) throw invalidField(`${field}.at`, "milliseconds since 1970");
  return { at, purpose, usage: usageFromJson(entry) };
}

const MESSAGE: Names<NewMessage> = {
  at: "at",
  role: "role",
  tool_call_id: "toolCallId",
  tool_name: "toolName",
  reasoning: "reasoning",
  finish_reason: "finishReason",
  token_count: "tokens",
  extra: "extra",
};
const ORIGIN: Names<MessageOrigin> = {
  platform: "platform",
  platform_message_id: "platformMessageId",
  user_id: "userId",
  user_name: "userName",
  proactive: "proactive",
  interrupted: "interrupted",
};
const PART: Readonly<Record<string, string>> = {
  type: "type",
  text: "text",
  blob: "blob",
  mime_type: "mimeType",
  size: "size",
  name: "name",
  uri: "uri",
};

/** A message with its session and seq. Omits absent fields: most messages are plain text. */
export function messageToJson(message: NewMessage | Message): Record<string, unknown> {
  return omitAbsent({
    ...("session" in message && { session: message.session, seq: message.seq }),
    ...toJson(message, MESSAGE),
    parts: message.parts.map((part) => omitAbsent(toJson(part, PART))),
    // Arguments may be null, which is not the same as none.
    tool_calls: message.toolCalls?.map(({ id, name, effect, ...rest }) => ({
      id,
      name,
      ...(rest.arguments !== undefined && { arguments: rest.arguments }),
      ...(effect !== undefined && { effect }),
    })),
    origin: message.origin && omitAbsent(toJson(message.origin, ORIGIN)),
  });
}

/** Reads the output of `messageToJson`, without session and seq. `checkMessage` validates the fields later. */
export function messageFromJson(json: unknown, field: string): NewMessage {
  const message = expectObject(json, field);
  const { parts, tool_calls: calls, origin } = message;
  return {
    ...fromJson(message, MESSAGE),
    parts: expectArray(parts, `${field}.parts`).map((part, i) => partFromJson(part, `${field}.parts[${i}]`)),
    ...(isPresent(calls) && {
      toolCalls: expectArray(calls, `${field}.tool_calls`).map((call, i) =>
        toolCallFromJson(call, `${field}.tool_calls[${i}]`),
      ),
    }),
    ...(isPresent(origin) && { origin: fromJson(expectObject(origin, `${field}.origin`), ORIGIN) }),
  } as unknown as NewMessage;
}

function partFromJson(json: unknown, field: string): Part {
  return fromJson(expectObject(json, field), PART) as unknown as Part;
}

function toolCallFromJson(json: unknown, field: string): ToolCall {
  const { id, name, effect, ...rest } = expectObject(json, field);
  return {
    id,
    name,
    ...("arguments" in rest && { arguments: rest.arguments }),
    ...(isPresent(effect) && { effect }),
  } as ToolCall;
}

export function expectObject(value: unknown, field: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw invalidField(field, "an object");
}

export function expectArray(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw invalidField(field, "a list");
}

/** A text. `undefined` if it is missing, null or empty. */
export function textFromJson(json: JsonObject, name: string): string | undefined {
  const value = json[name];
  if (!isPresent(value) || value === "") return undefined;
  if (typeof value !== "string") throw invalidField(name, "text");
  return value;
}

export function instantFromJson(json: JsonObject, name: string): number | undefined {
  const value = json[name];
  if (!isPresent(value)) return undefined;
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw invalidField(name, "milliseconds since 1970");
  return Number(value);
}

function invalidField(field: string, expected: string): PostriderError {
  return new PostriderError("invalid_input", `${field} must be ${expected}.`, { details: { field } });
}

/** Absent values become null, so that every field is present. */
function toJson(object: object, names: Readonly<Record<string, string>>): Record<string, unknown> {
  const fields = object as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(names).map(([json, field]) => [json, fields[field] ?? null]));
}

/** The inverse: null and missing values are absent. */
function fromJson(json: JsonObject, names: Readonly<Record<string, string>>): Record<string, unknown> {
  const fields = Object.entries(names).map(([name, field]) => [field, json[name]] as const);
  return Object.fromEntries(fields.filter(([, value]) => isPresent(value)));
}

function omitAbsent(json: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => isPresent(value)));
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}
