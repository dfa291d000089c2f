import type { Identity } from "./identity.ts";

/** `parts` are the chat, then the thread, the participant or both. A key does not tell which of them a second part is. */
export interface ParsedKey {
  readonly profile: string;
  readonly platform: string;
  readonly chatType: string;
  readonly parts: readonly string[];
}

/**
 * The printable name of an identity: `agent:<profile>:<platform>:<type>:<chat>[:<thread>][:<participant>]`. Not unique:
 * thread 2 and participant 2 of a chat have the same key, so a key alone is never used for lookups.
 */
export function sessionKey(identity: Identity): string {
  return buildKey(identity, identity.participant?.altId ?? identity.participant?.id);
}

/** `undefined` for a text that `sessionKey` cannot produce. */
export function parseKey(key: string): ParsedKey | undefined {
  const encoded = key.split(":");
  if (encoded.length < 5 || encoded.length > 7 || encoded[0] !== "agent") return undefined;
  if (!encoded.every((part) => ENCODED_PART.test(part))) return undefined;
  const [profile = "", platform = "", chatType = "", ...parts] = encoded.slice(1).map(decode);
  return { profile, platform, chatType, parts };
}

/** Whether the key fits this identity. Either id of the participant counts, because the second may be learnt later. */
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

/** Encodes only two characters, so that other ids stay as the platform writes them. */
function encode(part: string): string {
  return part.replaceAll("%", "%25").replaceAll(":", "%3A");
}

function decode(part: string): string {
  return part.replaceAll("%3A", ":").replaceAll("%25", "%");
}
