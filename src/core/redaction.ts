import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { PostriderError } from "./errors.ts";
import { platformTraits } from "./platforms.ts";
import type { Source } from "./source.ts";

/**
 * Which data about people the model gets.
 *
 * - `true` hashes ids on platforms where an id is or reveals a phone number, and names that are phone numbers.
 * - `"strict"` hashes with the home's key, so that nobody can find a number by trying all of them. It masks ids, names and
 *   topics on every platform, except ids of the conversation's own platform if mentions there need real ids.
 */
export interface Privacy {
  readonly redactPii?: boolean | "strict";
  /** The home's HMAC key in hex, required for `strict`. A secret. */
  readonly homeKey?: string;
}

/** The first 12 hex digits of SHA-256, or of HMAC-SHA256 with a key. */
export function hashId(value: string, key?: Uint8Array): string {
  const bytes = utf8ToBytes(value);
  return bytesToHex(key === undefined ? sha256(bytes) : hmac(sha256, key, bytes)).slice(0, 12);
}

export function hashSender(value: string, key?: Uint8Array): string {
  return `user_${hashId(value, key)}`;
}

/** Keeps a prefix with the kind of chat, as in `group:<id>`. */
export function hashChat(value: string, key?: Uint8Array): string {
  const colon = value.indexOf(":");
  if (colon <= 0 || !KIND.test(value.slice(0, colon))) return hashId(value, key);
  return value.slice(0, colon + 1) + hashId(value.slice(colon + 1), key);
}

/** An optional +, a digit, then at least six digits or separators. */
export function isPhoneLike(text: string): boolean {
  return /^\+?\(?\d[\d\s().-]{6,}$/.test(text);
}

/** The source for the model. Without redaction, the same object. */
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

/** A home channel for the model in a conversation on the platform `at`. */
export function redactHome<Home extends { platform: string; chatId: string; name: string }>(
  home: Home,
  at: string,
  privacy: Privacy,
): Home {
  const mask = buildMask(at, privacy);
  if (mask === undefined) return home;
  const masksId = mask.ids || home.platform !== at;
  const revealsId = isPhoneLike(home.name) || home.name === home.chatId;
  return {
    ...home,
    chatId: masksId ? hashChat(home.chatId, mask.key) : home.chatId,
    name: mask.names ? "Home" : revealsId ? hashChat(home.name, mask.key) : home.name,
  };
}

interface Mask {
  readonly ids: boolean;
  /** Masks all names and topics, not only those that reveal an id. */
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
  // A short key could be found by brute force, like the phone numbers that it protects.
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
  // The id identifies the person as well as a masked name would, and stays the same when the name changes.
  if (mask.names) return userId === undefined ? hashSender(userName, mask.key) : undefined;
  return isRevealing(userName, source) ? hashSender(userName, mask.key) : userName;
}

function maskChatName(source: Source, mask: Mask): string | undefined {
  const { chatName } = source;
  if (chatName === undefined || mask.names) return undefined;
  return isRevealing(chatName, source) ? hashChat(chatName, mask.key) : chatName;
}

/** Platforms without a name often use the phone number or the id instead. */
function isRevealing(name: string, source: Source): boolean {
  const ids = [source.chatId, source.userId, source.userIdAlt, source.chatIdAlt];
  return isPhoneLike(name) || ids.includes(name);
}

function omitUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
