import { PostriderError } from "./errors.ts";

/** The chat and sender of a message. Absent fields are `undefined`, never empty strings. */
export interface Source {
  /** Lower-case platform name. `platforms.ts` lists the known ones. */
  readonly platform: string;
  readonly chatId: string;
  readonly chatName?: string;
  /** `dm`, `group`, `channel`, `thread`, `forum`, `webhook` or another name. */
  readonly chatType: string;
  readonly userId?: string;
  readonly userName?: string;
  readonly threadId?: string;
  readonly chatTopic?: string;
  /** The sender's second id, such as Signal's UUID in addition to the phone number. */
  readonly userIdAlt?: string;
  readonly chatIdAlt?: string;
}

/** Unchecked input: ids may be numbers, and empty or null means absent. */
export interface SourceInput {
  readonly platform: string;
  readonly chatId: string | number;
  readonly chatName?: string | null | undefined;
  readonly chatType?: string | null | undefined;
  readonly userId?: string | number | null | undefined;
  readonly userName?: string | null | undefined;
  readonly threadId?: string | number | null | undefined;
  readonly chatTopic?: string | null | undefined;
  readonly userIdAlt?: string | number | null | undefined;
  readonly chatIdAlt?: string | number | null | undefined;
}

/** A source as JSON. The `_alt` ids are present only if known, all other fields always. */
export interface SourceJson {
  readonly platform: string;
  readonly chat_id: string;
  readonly chat_name: string | null;
  readonly chat_type: string;
  readonly user_id: string | null;
  readonly user_name: string | null;
  readonly thread_id: string | null;
  readonly chat_topic: string | null;
  readonly user_id_alt?: string;
  readonly chat_id_alt?: string;
}

/** The maximum length in UTF-16 units. Longer ids are rejected; longer names and topics are cut. */
export const MAX_SOURCE_TEXT = 1024;

/** Checks the input and returns a source. An error contains the camelCase name of the field. */
export function source(input: SourceInput): Source {
  return parse(input, (field) => field);
}

/** Checks JSON and returns a source. An error contains the JSON name of the field. */
export function sourceFromJson(json: unknown): Source {
  return parse(json, (field) => JSON_NAMES[field]);
}

export function sourceToJson(source: Source): SourceJson {
  return {
    platform: source.platform,
    chat_id: source.chatId,
    chat_name: source.chatName ?? null,
    chat_type: source.chatType,
    user_id: source.userId ?? null,
    user_name: source.userName ?? null,
    thread_id: source.threadId ?? null,
    chat_topic: source.chatTopic ?? null,
    ...(source.userIdAlt === undefined ? {} : { user_id_alt: source.userIdAlt }),
    ...(source.chatIdAlt === undefined ? {} : { chat_id_alt: source.chatIdAlt }),
  };
}

/** A short description for people and the model: "DM with bob", "group: Dev Chat, thread: 42". */
export function describeSource(source: Source): string {
  if (source.platform === "local") return "CLI terminal";
  const chat = source.chatName ?? source.chatId;
  const thread = source.threadId === undefined ? "" : `, thread: ${source.threadId}`;
  switch (source.chatType) {
    case "dm":
      return `DM with ${source.userName ?? source.userId ?? "user"}${thread}`;
    case "group":
    case "channel":
      return `${source.chatType}: ${chat}${thread}`;
    default:
      return `${chat}${thread}`;
  }
}

/** The terminal on the machine where Postrider runs. */
export function localSource(): Source {
  return { platform: "local", chatId: "cli", chatName: "CLI terminal", chatType: "dm" };
}

/** A name or topic on one line, so that a name cannot add lines to a prompt or list. `undefined` if it is blank. */
export function toDisplayText(text: string): string | undefined {
  const line = text.toWellFormed().replace(CONTROLS, " ").trim();
  // The cut may split a surrogate pair, and half a pair cannot be stored.
  const cut = line.slice(0, MAX_SOURCE_TEXT).replace(/[\uD800-\uDBFF]$/, "");
  return cut.trimEnd() || undefined;
}

const JSON_NAMES = {
  platform: "platform",
  chatId: "chat_id",
  chatName: "chat_name",
  chatType: "chat_type",
  userId: "user_id",
  userName: "user_name",
  threadId: "thread_id",
  chatTopic: "chat_topic",
  userIdAlt: "user_id_alt",
  chatIdAlt: "chat_id_alt",
} as const satisfies Record<keyof Source, string>;

const OPTIONAL_IDS = ["userId", "threadId", "userIdAlt", "chatIdAlt"] as const;
const TEXTS = ["chatName", "userName", "chatTopic"] as const;

const PLATFORM_NAME = /^[a-z][a-z0-9_-]{0,63}$/;
/** C0, DEL, C1 and the two Unicode line breaks. */
const CONTROLS = /[\p{Cc}\u2028\u2029]/gu;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

function parse(given: unknown, nameOf: (field: keyof Source) => string): Source {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw invalid("source", "must be an object with at least a platform and a chat id");
  }
  const record = given as Readonly<Record<string, unknown>>;
  const read = (field: keyof Source): [name: string, value: unknown] => [
    nameOf(field),
    record[nameOf(field)],
  ];

  const platform = parsePlatform(...read("platform"));
  const chatId = parseId(...read("chatId"));
  if (chatId === undefined) throw invalid(nameOf("chatId"), "is missing: every message needs a chat");

  const optional: { -readonly [F in (typeof OPTIONAL_IDS | typeof TEXTS)[number]]?: string } = {};
  for (const field of OPTIONAL_IDS) {
    const id = parseId(...read(field));
    if (id !== undefined) optional[field] = id;
  }
  for (const field of TEXTS) {
    const text = parseText(...read(field));
    if (text !== undefined) optional[field] = text;
  }
  return { platform, chatId, chatType: parseChatType(...read("chatType")), ...optional };
}

function parsePlatform(name: string, value: unknown): string {
  if (typeof value === "string" && PLATFORM_NAME.test(value)) return value;
  throw invalid(
    name,
    "must be a lower-case name such as telegram (a letter, then letters, digits, _ or -, 64 at most)",
  );
}

function parseChatType(name: string, value: unknown): string {
  // Only ids and names can be numeric, so a number here is a mistake.
  if (typeof value === "number") throw invalid(name, "must be text such as dm or group");
  return parseId(name, value) ?? "dm";
}

/** Keeps an id exactly, with its spaces. A blank one counts as absent. */
function parseId(name: string, value: unknown): string | undefined {
  const text = parseScalar(name, value);
  if (text === undefined || text.trim() === "") return undefined;
  if (text.length > MAX_SOURCE_TEXT) throw invalid(name, `is longer than ${MAX_SOURCE_TEXT} characters`);
  if (CONTROL.test(text)) throw invalid(name, "contains control characters");
  // Lone surrogates cannot be stored as UTF-8: two different ids would become equal.
  if (!text.isWellFormed()) throw invalid(name, "is not valid Unicode");
  return text;
}

/** Cuts a long topic instead of rejecting it, because the message must not be lost. */
function parseText(name: string, value: unknown): string | undefined {
  const text = parseScalar(name, value);
  return text === undefined ? undefined : toDisplayText(text);
}

function parseScalar(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  if (typeof value !== "number") throw invalid(name, "must be text or a whole number");
  // A number beyond the safe integers lost digits, so it may be the id of another person.
  if (!Number.isSafeInteger(value)) throw invalid(name, "is not an exact whole number: pass it as text");
  return String(value);
}

/** Omits the value, which may be a phone number. */
function invalid(field: string, problem: string): PostriderError {
  return new PostriderError("invalid_input", `${field} ${problem}.`, { details: { field } });
}
