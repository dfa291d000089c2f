import { PostriderError } from "./errors.ts";

/** `tool` is the result of a call. `note` is an entry that is neither from the user nor from the assistant. */
export type Role = "user" | "assistant" | "tool" | "note";

export const ROLES: readonly Role[] = ["user", "assistant", "tool", "note"];

/** Refers to bytes in the blob table, which stores them once by hash. */
export interface BlobRef {
  readonly blob: string;
  readonly mimeType: string;
  readonly size: number;
  readonly name?: string;
}

export type Part =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "image" } & BlobRef)
  | ({ readonly type: "file" } & BlobRef)
  | {
      readonly type: "resource";
      readonly uri: string;
      readonly mimeType?: string;
      readonly text?: string;
      readonly blob?: string;
    };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** An object if the model sent valid JSON, otherwise the raw text. */
  readonly arguments: unknown;
  /** The call changes something outside of Postrider and is not repeated after a crash. */
  readonly effect?: "external";
}

/** The platform and sender of a message, and how it came about. */
export interface MessageOrigin {
  readonly platform?: string;
  readonly platformMessageId?: string;
  readonly userId?: string;
  readonly userName?: string;
  /** Postrider sent it without input from a person: the result of a job, the end of a process. */
  readonly proactive?: boolean;
  /** The answer is incomplete because it was interrupted. */
  readonly interrupted?: boolean;
}

/** A message to append. `at` defaults to the time of the call. */
export interface NewMessage {
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly at?: number;
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly reasoning?: string;
  readonly finishReason?: string;
  readonly tokens?: number;
  readonly origin?: MessageOrigin;
  /** Opaque to Postrider, stored unchanged. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** An immutable stored message, identified by session and seq. */
export interface Message extends NewMessage {
  /** The session that stores it. In a fork this may be the session it was forked from. */
  readonly session: string;
  readonly seq: number;
  readonly at: number;
}

/** The limit for the bytes of one part, and for all texts of a message together. */
export const MAX_PART_BYTES: number = 25 * 1024 * 1024;

/** More than any provider needs, and less than `JSON.stringify` can handle. */
const MAX_NESTING = 100;

export function textPart(value: string): Part {
  return { type: "text", text: value };
}

/** The text parts of a message, joined by line breaks. */
export function getText(message: Pick<NewMessage, "parts">): string {
  const [first, ...more] = message.parts;
  if (first?.type === "text" && more.length === 0) return first.text;
  return message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** Whether a person wrote it: a proactive message of Postrider does not count. */
export function isHuman({ role, origin }: Pick<NewMessage, "role" | "origin">): boolean {
  return role === "user" && !origin?.proactive;
}

export function countToolCalls(message: Pick<NewMessage, "toolCalls">): number {
  return message.toolCalls?.length ?? 0;
}

/**
 * Returns the message with known fields only, or throws an error that names the field. Lone surrogates become U+FFFD, because
 * databases cannot store them; all other characters stay, also NUL.
 */
export function checkMessage(message: NewMessage): NewMessage {
  const given = checkRecord(message, "message");
  const role = ROLES.find((known) => known === given.role);
  if (role === undefined) throw invalid("role", `one of ${ROLES.join(", ")}`);
  const parts = checkList(given.parts, "parts").map((part, i) => checkPart(part, `parts[${i}]`));
  checkLimit(
    parts.map((part) => ("text" in part ? part.text : "")),
    "parts",
  );
  return {
    role,
    parts,
    ...optional(given, "at", checkWholeNumber),
    ...optional(given, "toolCalls", checkToolCalls),
    ...optional(given, "toolCallId", checkString),
    ...optional(given, "toolName", checkString),
    ...optional(given, "reasoning", checkString),
    ...optional(given, "finishReason", checkString),
    ...optional(given, "tokens", checkWholeNumber),
    ...optional(given, "origin", checkOrigin),
    ...optional(given, "extra", checkExtra),
  };
}

function checkPart(value: unknown, field: string): Part {
  const part = checkRecord(value, field);
  switch (part.type) {
    case "text":
      return textPart(checkString(part.text, `${field}.text`));
    case "image":
    case "file":
      return {
        type: part.type,
        blob: checkHash(part.blob, `${field}.blob`),
        mimeType: checkString(part.mimeType, `${field}.mimeType`),
        size: checkSize(part.size, `${field}.size`),
        ...optional(part, "name", checkString, field),
      };
    case "resource":
      return {
        type: "resource",
        uri: checkString(part.uri, `${field}.uri`),
        ...optional(part, "mimeType", checkString, field),
        ...optional(part, "text", checkString, field),
        ...optional(part, "blob", checkHash, field),
      };
    default:
      throw invalid(`${field}.type`, "text, image, file or resource");
  }
}

function checkToolCalls(value: unknown, field: string): readonly ToolCall[] {
  const calls = checkList(value, field).map((item, i): ToolCall => {
    const at = `${field}[${i}]`;
    const call = checkRecord(item, at);
    if (call.arguments !== undefined) checkPlainData(call.arguments, `${at}.arguments`, []);
    return {
      id: checkString(call.id, `${at}.id`),
      name: checkString(call.name, `${at}.name`),
      arguments: call.arguments,
      ...(call.effect === "external" && { effect: "external" }),
    };
  });
  checkLimit([JSON.stringify(calls)], field);
  return calls;
}

function checkOrigin(value: unknown, field: string): MessageOrigin {
  const origin = checkRecord(value, field);
  return {
    ...optional(origin, "platform", checkString, field),
    ...optional(origin, "platformMessageId", checkString, field),
    ...optional(origin, "userId", checkString, field),
    ...optional(origin, "userName", checkString, field),
    ...optional(origin, "proactive", checkFlag, field),
    ...optional(origin, "interrupted", checkFlag, field),
  };
}

function checkExtra(value: unknown, field: string): Readonly<Record<string, unknown>> {
  const extra = checkRecord(value, field);
  checkPlainData(extra, field, []);
  checkLimit([JSON.stringify(extra)], field);
  return extra;
}

/** Accepts only data that JSON returns unchanged. An undefined property counts as absent. */
function checkPlainData(value: unknown, field: string, inside: readonly object[]): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (typeof value !== "object") throw invalid(field, "plain JSON data");
  if (inside.includes(value)) throw invalid(field, "free of circular references");
  if (inside.length >= MAX_NESTING) throw invalid(field, `nested at most ${MAX_NESTING} deep`);
  const around = [...inside, value];
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) checkPlainData(value[i], `${field}[${i}]`, around);
    return;
  }
  // A plain object, also from another realm. JSON would change a Date, a Map or an instance of a class.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw invalid(field, "plain JSON data");
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== undefined) checkPlainData(inner, `${field}.${key}`, around);
  }
}

function optional<K extends string, V>(
  given: Readonly<Record<string, unknown>>,
  key: K,
  check: (value: unknown, field: string) => V,
  inside?: string,
): { readonly [P in K]?: V } {
  const value = given[key];
  if (value === undefined) return {};
  return { [key]: check(value, inside === undefined ? key : `${inside}.${key}`) } as { readonly [P in K]: V };
}

function checkRecord(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(field, "an object");
  return value as Readonly<Record<string, unknown>>;
}

function checkList(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(field, "a list");
  return value;
}

function checkString(value: unknown, field: string): string {
  if (typeof value !== "string") throw invalid(field, "a string");
  checkLimit([value], field);
  return value.toWellFormed();
}

function checkHash(value: unknown, field: string): string {
  if (typeof value === "string" && /^[0-9a-f]{64}$/.test(value)) return value;
  throw invalid(field, "a blob's hash, 64 lower-case hexadecimal digits");
}

function checkWholeNumber(value: unknown, field: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid(field, "a whole number, zero or more");
}

function checkSize(value: unknown, field: string): number {
  const bytes = checkWholeNumber(value, field);
  if (bytes > MAX_PART_BYTES) throw tooLarge(field);
  return bytes;
}

function checkFlag(value: unknown, field: string): boolean {
  if (typeof value !== "boolean") throw invalid(field, "true or false");
  return value;
}

function checkLimit(texts: readonly (string | undefined)[], field: string): void {
  const chars = texts.reduce((sum, value = "") => sum + value.length, 0);
  if (chars * 3 <= MAX_PART_BYTES) return; // a UTF-16 unit has at most three bytes
  if (texts.reduce((sum, value = "") => sum + countUtf8Bytes(value), 0) > MAX_PART_BYTES)
    throw tooLarge(field);
}

function countUtf8Bytes(value: string): number {
  let bytes = value.length;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code < 0x80) continue;
    bytes += code < 0x800 ? 1 : 2;
    // The four bytes of a surrogate pair include its second half.
    if (code >= 0xd800 && code <= 0xdbff && value.codePointAt(i) !== code) i++;
  }
  return bytes;
}

function invalid(field: string, expected: string): PostriderError {
  const sentence = `The message cannot be stored: ${field} must be ${expected}.`;
  return new PostriderError("invalid_input", sentence, { details: { field } });
}

function tooLarge(field: string): PostriderError {
  const sentence = `The message cannot be stored: ${field} is larger than ${MAX_PART_BYTES} bytes. Split it, or send a link.`;
  return new PostriderError("too_large", sentence, { details: { field, limit: MAX_PART_BYTES } });
}
