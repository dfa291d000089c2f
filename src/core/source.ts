import { PostriderError } from "./errors.ts";

/** Where a message came from. Absent fields are absent, never empty strings. */
export interface Source {
  /** Lower-case platform name; an open set. See `platforms.ts` for what is known of each. */
  readonly platform: string;
  readonly chatId: string;
  readonly chatName?: string;
  /** dm, group, channel, thread, forum, webhook; free beyond these. */
  readonly chatType: string;
  readonly userId?: string;
  readonly userName?: string;
  readonly threadId?: string;
  readonly chatTopic?: string;
  /** The sender's second id, such as Signal's UUID beside the phone number. */
  readonly userIdAlt?: string;
  readonly chatIdAlt?: string;
}

/** What a platform or a program gives: ids may be numbers, and empty or null means absent. */
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

/** A source as JSON. The two `_alt` ids are there only when known; everything else always is. */
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

/** The longest id that is accepted, and where names and topics are cut; in UTF-16 units. */
export const MAX_SOURCE_TEXT = 1024;

/** Checks what a platform gave and makes a source of it; the error names the field by its camelCase name. */
export function source(input: SourceInput): Source {
  return parse(input, (field) => field);
}

/** Checks unknown JSON and makes a source of it; the error names the field as the JSON spells it. */
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

/** A few words for people and for the model: "DM with bob", "group: Dev Chat, thread: 42". */
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

/**
 * Makes a name or topic fit for one line: control characters and line breaks become spaces, so that nobody can
 * write lines of their own into a prompt or a list by choosing a name. Blank becomes undefined.
 */
export function toDisplayText(text: string): string | undefined {
  const line = text.toWellFormed().replace(CONTROLS, " ").trim();
  // The cut may fall inside a surrogate pair; the half that stays would not survive being stored.
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
/** C0 with NUL, DEL and C1, and the two Unicode line breaks. */
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
  if (chatId === undefined) throw invalid(nameOf("chatId"), "is missing: every message comes from some chat");

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
  // A number is certainly a mistake here: only ids and names are ever numeric.
  if (typeof value === "number") throw invalid(name, "must be text such as dm or group");
  return parseId(name, value) ?? "dm";
}

/** Ids are the platform's own and are kept exactly, spaces included; only a wholly blank one counts as absent. */
function parseId(name: string, value: unknown): string | undefined {
  const text = parseScalar(name, value);
  if (text === undefined || text.trim() === "") return undefined;
  if (text.length > MAX_SOURCE_TEXT) throw invalid(name, `is longer than ${MAX_SOURCE_TEXT} characters`);
  if (CONTROL.test(text)) throw invalid(name, "contains control characters");
  // Half a surrogate pair cannot be stored as UTF-8, so two such ids would become one.
  if (!text.isWellFormed()) throw invalid(name, "is not valid Unicode");
  return text;
}

/** A long topic is cut rather than refused: it must not cost anyone their message. */
function parseText(name: string, value: unknown): string | undefined {
  const text = parseScalar(name, value);
  return text === undefined ? undefined : toDisplayText(text);
}

function parseScalar(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  if (typeof value !== "number") throw invalid(name, "must be text or a whole number");
  // Beyond the safe integers a number has already lost digits, so it may name somebody else.
  if (!Number.isSafeInteger(value)) throw invalid(name, "is not an exact whole number: give it as text");
  return String(value);
}

/** The value itself is left out: it may be somebody's phone number. */
function invalid(field: string, problem: string): PostriderError {
  return new PostriderError("invalid_input", `${field} ${problem}.`, { details: { field } });
}
