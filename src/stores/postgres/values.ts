import { PostriderError } from "../../core/errors.ts";

/** A code point that Unicode reserves for such uses. PostgreSQL accepts no NUL in a text. */
const ESCAPE = "\ufdd0";
const TO_ESCAPE = /[\0\ufdd0]/g;
const ESCAPED = /\ufdd0([0\ufdd0])/g;

/**
 * A value as the driver sends it. Every text can be read back as it was, except half surrogate pairs: UTF-8 has no form
 * for them, so they become U+FFFD, as in SQLite.
 */
export function encodeValue(value: unknown): unknown {
  return typeof value === "string" ? encodeText(value) : value;
}

function encodeText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();
  if (!wellFormed.includes("\0") && !wellFormed.includes(ESCAPE)) return wellFormed;
  return wellFormed.replace(TO_ESCAPE, (char) => ESCAPE + (char === "\0" ? "0" : ESCAPE));
}

function decodeText(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text.replace(ESCAPED, (_, char: string) => (char === "0" ? "\0" : ESCAPE));
}

/** Whole numbers are 64 bits in the database; JavaScript is exact up to 2^53. */
function decodeNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new PostriderError("corrupt", `The database contains ${text}, which is too large for a number.`);
  return value;
}

/** SQLite has no truth values; the operations expect 0 and 1. */
const decodeBoolean = (text: string): number => (text === "t" ? 1 : 0);

const BOOL = 16;
const INT8 = 20;
const TEXT = 25;
const VARCHAR = 1043;
const NUMERIC = 1700;

const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [BOOL, decodeBoolean],
  [INT8, decodeNumber],
  [NUMERIC, decodeNumber],
  [TEXT, decodeText],
  [VARCHAR, decodeText],
]);

/** Our parser for a type of PostgreSQL; `undefined` for types that the driver parses. */
export function findValueParser(oid: number): ((text: string) => unknown) | undefined {
  return PARSERS.get(oid);
}

/** For a copy: whole numbers are `bigint`, which is exact for all 64 bits. */
export function findExactParser(oid: number): ((text: string) => unknown) | undefined {
  return oid === INT8 ? BigInt : PARSERS.get(oid);
}
