import type { Identity } from "./identity.ts";

/**
 * What can be read from a key. `parts` are the chat and, if there are more, the thread or the participant or
 * both: the key alone does not tell which of the two a second part is.
 */
export interface ParsedKey {
  readonly profile: string;
  readonly platform: string;
  readonly chatType: string;
  readonly parts: readonly string[];
}

/**
 * The printable name of an identity: `agent:<profile>:<platform>:<type>:<chat>[:<thread>][:<participant>]`.
 * It is for people's eyes. A thread 2 and a participant 2 of the same chat look alike in it, so nothing is ever
 * looked up by a key alone.
 */
export function sessionKey(identity: Identity): string {
  return buildKey(identity, identity.participant?.altId ?? identity.participant?.id);
}

/** Undefined for anything that `sessionKey` would not write. */
export function parseKey(key: string): ParsedKey | undefined {
  const encoded = key.split(":");
  if (encoded.length < 5 || encoded.length > 7 || encoded[0] !== "agent") return undefined;
  if (!encoded.every((part) => ENCODED_PART.test(part))) return undefined;
  const [profile = "", platform = "", chatType = "", ...parts] = encoded.slice(1).map(decode);
  return { profile, platform, chatType, parts };
}

/**
 * Whether a key may name this identity. Either id of the participant counts, because an account whose second
 * id was learnt later has been printed under its first.
 */
export function matchesKey(key: string, identity: Identity): boolean {
  const { id, altId } = identity.participant ?? {};
  return (
    key === sessionKey(identity) ||
    [id, altId].some((it) => it !== undefined && key === buildKey(identity, it))
  );
}

const ENCODED_PART = /^(?:[^%:]|%25|%3A)+$/;

function buildKey(identity: Identity, participant: string | undefined): string {
  const { profile, platform, chatType, chatId, threadId } = identity;
  return ["agent", profile, platform, chatType, chatId, threadId, participant]
    .filter((part) => part !== undefined)
    .map(encode)
    .join(":");
}

/** Only these two, so that every other id reads as the platform writes it. */
function encode(part: string): string {
  return part.replaceAll("%", "%25").replaceAll(":", "%3A");
}

function decode(part: string): string {
  return part.replaceAll("%3A", ":").replaceAll("%25", "%");
}
