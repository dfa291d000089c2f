import { PostriderError } from "./errors.ts";
import type { Listed } from "./listing.ts";
import type { Message, MessageOrigin, NewMessage, Part, ToolCall } from "./message.ts";
import type { Session } from "./session.ts";
import { sourceToJson } from "./source.ts";
import type { Usage } from "./usage.ts";

/**
 * The one place where names change: JSON that leaves or enters Postrider is snake_case, TypeScript is camelCase.
 * Only Postrider's own fields are renamed; what is opaque (`extra`, `config`, tool arguments) stays as it is.
 */
export type Json = Readonly<Record<string, unknown>>;

/** `messageCount` → `message_count`; absent values become null so that every field is always there. */
export function snake(object: object, fields: readonly string[]): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const field of fields) json[snakeName(field)] = (object as Record<string, unknown>)[field] ?? null;
  return json;
}

/** The inverse: null and missing are absent. */
export function camel(json: Json, fields: readonly string[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const field of fields) {
    const value = json[snakeName(field)];
    if (value !== null && value !== undefined) object[field] = value;
  }
  return object;
}

function snakeName(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const USAGE: readonly (keyof Usage)[] = [
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "reasoningTokens",
  "totalTokens",
  "lastPromptTokens",
  "costUsd",
  "costStatus",
  "costSource",
  "model",
  "provider",
  "baseUrl",
];

const SESSION: readonly (keyof Session)[] = [
  "id",
  "handle",
  "kind",
  "profile",
  "owner",
  "audience",
  "title",
  "displayName",
  "cwd",
  "config",
  "messageCount",
  "humanCount",
  "toolCallCount",
  "createdAt",
  "lastAt",
  "endedAt",
  "endReason",
  "archivedAt",
  "parent",
];

export function sessionToJson(session: Session | Listed): Record<string, unknown> {
  return {
    ...snake(session, SESSION),
    origin: session.origin === undefined ? null : sourceToJson(session.origin),
    ...snake(session.usage, USAGE),
    ...("preview" in session && { preview: session.preview }),
  };
}

export function usageFromJson(json: Json): Partial<Usage> {
  return camel(json, USAGE) as Partial<Usage>;
}

const MESSAGE: readonly (keyof Message)[] = [
  "at",
  "role",
  "toolCallId",
  "toolName",
  "reasoning",
  "finishReason",
  "tokens",
  "extra",
];
const ORIGIN: readonly (keyof MessageOrigin)[] = [
  "platform",
  "platformMessageId",
  "userId",
  "userName",
  "proactive",
  "interrupted",
];
const PART = ["type", "text", "blob", "mimeType", "size", "name", "uri"] as const;
const TOOL_CALL: readonly (keyof ToolCall)[] = ["id", "name", "arguments"];

/** A message with its place. Absent fields are left out: a transcript is mostly plain text. */
export function messageToJson(message: NewMessage | Message): Record<string, unknown> {
  return present({
    ...("session" in message && { session: message.session, seq: message.seq }),
    ...snake(message, MESSAGE),
    parts: message.parts.map((part) => present(snake(part, PART))),
    tool_calls: message.toolCalls?.map((call) => snake(call, TOOL_CALL)),
    origin: message.origin === undefined ? null : present(snake(message.origin, ORIGIN)),
  });
}

/** What `messageToJson` wrote. Its fields are checked where every message is: by `checkMessage`. */
export function messageFromJson(json: unknown, field: string): NewMessage {
  const { parts, tool_calls, origin, ...rest } = asObject(json, field);
  return {
    ...camel(rest, MESSAGE),
    parts: asArray(parts, `${field}.parts`).map((part, i) => camel(asObject(part, `${field}.parts[${i}]`), PART) as unknown as Part),
    ...(tool_calls !== undefined &&
      tool_calls !== null && {
        toolCalls: asArray(tool_calls, `${field}.tool_calls`).map((call, i) => {
          const object = asObject(call, `${field}.tool_calls[${i}]`);
          return { ...camel(object, ["id", "name"]), arguments: object.arguments ?? null } as ToolCall;
        }),
      }),
    ...(origin !== undefined && origin !== null && { origin: camel(asObject(origin, `${field}.origin`), ORIGIN) as MessageOrigin }),
  } as unknown as NewMessage;
}

export function asObject(value: unknown, field: string): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw wrong(field, "an object");
}

export function asArray(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw wrong(field, "a list");
}

function wrong(field: string, wanted: string): PostriderError {
  return new PostriderError("invalid_input", `${field} must be ${wanted}.`, { details: { field } });
}

function present(json: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null && value !== undefined));
}
