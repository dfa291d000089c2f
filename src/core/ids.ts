import { PostriderError } from "./errors.ts";

/** A version 4 UUID from 16 random bytes. */
export function uuidFrom(bytes: Uint8Array): string {
  if (bytes.length !== 16) {
    throw new PostriderError("invalid_input", `A UUID needs 16 random bytes, not ${bytes.length}.`);
  }
  const hex = Array.from(bytes, (byte, index) => {
    if (index === 6) return hexByte((byte & 0x0f) | 0x40);
    if (index === 8) return hexByte((byte & 0x3f) | 0x80);
    return hexByte(byte);
  }).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Accepts our own ids and those of imports and library users, if they are safe in URLs, log lines and file names. */
export function isSessionId(text: string): boolean {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(text) && !text.startsWith(".") && !text.includes("..");
}

export function assertSessionId(text: string): string {
  if (isSessionId(text)) return text;
  throw new PostriderError(
    "invalid_input",
    `"${escapeNonAscii(text)}" cannot be a session id: 1 to 128 letters, digits, "_", "-" and single dots, no dot first.`,
    { details: { field: "session_id" } },
  );
}

/** The start of the text in at most 80 printable ASCII characters, so that it cannot forge a log line. */
function escapeNonAscii(text: string): string {
  let shown = "";
  for (const character of text) {
    const plain = /^[ -~]$/.test(character);
    const next = plain ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`;
    if (shown.length + next.length > 79) return `${shown}…`;
    shown += next;
  }
  return shown;
}

const LETTERS = "abcdefghjkmnpqrstuvwxyz";
/** Without 0, o, 1, l and i, because handles are read aloud and typed on phones. */
const ALPHABET: string = `${LETTERS}23456789`;
const SHORTEST = 3;

/**
 * The handle of the store's n-th session (n ≥ 1). All handles of one length form a tier; a stride coprime to the tier's size
 * visits each exactly once, so handles are unique and neighbours look different. The first character is a letter, so that no
 * handle looks like a number. Handles are stored and remembered by people: the result must never change.
 */
export function encodeHandle(n: number): string {
  if (!Number.isSafeInteger(n) || n < 1) {
    throw new PostriderError("invalid_input", `Sessions are numbered 1, 2, 3, …: ${n} has no handle.`);
  }
  let index = BigInt(n);
  let length = SHORTEST;
  while (index > getTierSize(length)) {
    index -= getTierSize(length);
    length++;
  }
  return encodeDigits((index * computeStride(length)) % getTierSize(length), length);
}

/** Whether the text has the form of a handle. A session with it may not exist. */
export function isHandle(text: string): boolean {
  return /^[a-hjkmnp-z][a-hjkmnp-z2-9]{2,10}$/.test(text);
}

function getTierSize(length: number): bigint {
  return BigInt(LETTERS.length) * BigInt(ALPHABET.length) ** BigInt(length - 1);
}

/** Near the golden ratio of the tier's size, which keeps successive values far apart. */
function computeStride(length: number): bigint {
  let step = (getTierSize(length) * 618_033_988n) / 1_000_000_000n;
  // 23 and 31 are prime, so the size has no other factors.
  while (step % BigInt(LETTERS.length) === 0n || step % BigInt(ALPHABET.length) === 0n) step++;
  return step;
}

function encodeDigits(value: bigint, length: number): string {
  const base = BigInt(ALPHABET.length);
  let text = "";
  let rest = value;
  while (text.length < length - 1) {
    text = ALPHABET.charAt(Number(rest % base)) + text;
    rest /= base;
  }
  return LETTERS.charAt(Number(rest)) + text;
}

function hexByte(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
