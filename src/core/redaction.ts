import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { PostriderError } from "./errors.ts";
import { platformTraits } from "./platforms.ts";
import type { Source } from "./source.ts";

/**
 * What the model may learn about people.
 *
 * - `true` hashes ids on the platforms where an id is or leads to a phone number, and names that are one.
 * - `"strict"` hashes with the home's own key, so that nobody can find a number by trying them all; it masks
 *   ids on every platform, names and topics included. The one exception are ids of the platform where the
 *   conversation is, if people can be mentioned there only by their real ids.
 */
export interface Privacy {
  readonly redactPii?: boolean | "strict";
  /** The home's HMAC key in hex; needed for strict. A secret: it appears in no message. */
  readonly homeKey?: string;
}

/** Twelve hex digits that stand for a value: SHA-256, or HMAC-SHA256 with a key. */
export function hashId(value: string, key?: Uint8Array): string {
  const bytes = utf8ToBytes(value);
  return bytesToHex(key === undefined ? sha256(bytes) : hmac(sha256, key, bytes)).slice(0, 12);
}

export function hashSender(value: string, key?: Uint8Array): string {
  return `user_${hashId(value, key)}`;
}

/** Keeps a prefix that says what kind of chat it is, as in `group:<id>`; a number or a name is no such prefix. */
export function hashChat(value: string, key?: Uint8Array): string {
  const colon = value.indexOf(":");
  if (colon <= 0 || !KIND.test(value.slice(0, colon))) return hashId(value, key);
  return value.slice(0, colon + 1) + hashId(value.slice(colon + 1), key);
}

/** Optional +, a digit, then at least six digits and the signs that people write between them. */
export function isPhoneLike(text: string): boolean {
  return /^\+?\(?\d[\d\s().-]{6,}$/.test(text);
}

/** The source as the model may see it. Without redaction it is the source itself. */
export function redactSource(source: Source, privacy: Privacy): Source {
  const mask = buildMask(source.platform, privacy);
  if (mask === undefined) return source;
  const { platform, chatType, chatId, userId, threadId, chatTopic } = source;
  return {
    platform,
    chatType,
    chatId: mask.ids ? hashChat(chatId, mask.key) : chatId,
    ...omitUndefined({
      chatName: maskChatName(source, mask),
      userId: mask.ids && userId !== undefined ? hashSender(userId, mask.key) : userId,
      userName: maskUserName(source, mask),
      threadId: mask.ids ? undefined : threadId,
      chatTopic: mask.names && chatTopic !== undefined ? "(hidden)" : chatTopic,
    }),
  };
}

/** A home channel as the model may see it in a conversation on the platform `at`. */
export function redactHome<Home extends { platform: string; chatId: string; name: string }>(
  home: Home,
  at: string,
  privacy: Privacy,
): Home {
  const mask = buildMask(at, privacy);
  if (mask === undefined) return home;
  const masksId = mask.ids || home.platform !== at;
  const givesAway = isPhoneLike(home.name) || home.name === home.chatId;
  return {
    ...home,
    chatId: masksId ? hashChat(home.chatId, mask.key) : home.chatId,
    name: mask.names ? "Home" : givesAway ? hashChat(home.name, mask.key) : home.name,
  };
}

interface Mask {
  readonly ids: boolean;
  /** All names and topics, not only those that give an id away. */
  readonly names: boolean;
  readonly key?: Uint8Array;
}

const KIND = /^[a-z][a-z_-]*$/i;

function buildMask(platform: string, privacy: Privacy): Mask | undefined {
  const traits = platformTraits(platform);
  if (privacy.redactPii === "strict") {
    return { ids: !traits.rawIdsForMentions, names: true, key: parseHomeKey(privacy.homeKey) };
  }
  return privacy.redactPii && traits.redactable ? { ids: true, names: false } : undefined;
}

function parseHomeKey(hex: string | undefined): Uint8Array {
  // A short key could be tried out like the phone numbers it protects.
  if (hex === undefined || !/^(?:[0-9a-f]{2}){16,}$/i.test(hex)) {
    throw new PostriderError(
      "invalid_config",
      "privacy.redact_pii is strict, which needs the home's key: at least 16 bytes in hex.",
      { details: { field: "privacy.redact_pii" } },
    );
  }
  return hexToBytes(hex);
}

function maskUserName(source: Source, mask: Mask): string | undefined {
  const { userName, userId } = source;
  if (userName === undefined) return undefined;
  // The id says who it is as well as a masked name would, and stays the same when the name changes.
  if (mask.names) return userId === undefined ? hashSender(userName, mask.key) : undefined;
  return isRevealing(userName, source) ? hashSender(userName, mask.key) : userName;
}

function maskChatName(source: Source, mask: Mask): string | undefined {
  const { chatName } = source;
  if (chatName === undefined || mask.names) return undefined;
  return isRevealing(chatName, source) ? hashChat(chatName, mask.key) : chatName;
}

/** Platforms that know no name often put the number or the id itself in its place. */
function isRevealing(name: string, source: Source): boolean {
  const ids = [source.chatId, source.userId, source.userIdAlt, source.chatIdAlt];
  return isPhoneLike(name) || ids.includes(name);
}

function omitUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
