import { PostriderError } from "./errors.ts";

/** In characters as people count them roughly: code points, not UTF-16 units. */
export const MAX_TITLE_LENGTH: number = 100;

/** A title fit to be stored and shown on one line, or `undefined` when nothing visible is left of it. */
export function cleanTitle(raw: string): string | undefined {
  const title = stripInvisible(raw);
  const { length } = [...title];
  if (length > MAX_TITLE_LENGTH) {
    throw new PostriderError(
      "invalid_input",
      `The title has ${length} characters; the limit is ${MAX_TITLE_LENGTH}.`,
      { details: { field: "title", length, limit: MAX_TITLE_LENGTH } },
    );
  }
  return title === "" ? undefined : title;
}

/** The same, and one that is too long is cut instead of refused. */
export function cutTitle(raw: string): { readonly title?: string; readonly isCut: boolean } {
  const characters = [...stripInvisible(raw)];
  const title = characters.slice(0, MAX_TITLE_LENGTH).join("").trim();
  return { ...(title !== "" && { title }), isCut: characters.length > MAX_TITLE_LENGTH };
}

/** Controls (but whitespace), zero-width and bidi marks, invisible operators, BOM, annotation and object marks. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc]|\p{Cs}/gu;

// U+0085 is a line break that JavaScript does not count among whitespace. \p{Cs} is half a character, which
// no database would give back as it was.
function stripInvisible(raw: string): string {
  return raw
    .replaceAll(INVISIBLE, "")
    .replaceAll(/[\s\u0085]+/g, " ")
    .trim();
}

/** A title's place among its namesakes. */
export interface TitleLineage {
  readonly base: string;
  readonly number: number;
}

/** `notes #3` is number 3 of `notes`; a bare title is number 1 of itself. */
export function parseLineage(title: string): TitleLineage {
  // Ten digits or more are an order number or a date, not a count of namesakes; neither is a leading zero.
  const [, base, number] = /^(.*\S) #([1-9]\d{0,8})$/su.exec(title) ?? [];
  if (base === undefined || number === undefined) return { base: title, number: 1 };
  return { base, number: Number(number) };
}

/**
 * The title for one more session of this lineage: the base itself while it has no namesake, else one more than
 * the highest number. `undefined` when that would be too long to be a title.
 */
export function buildNextTitle(title: string, existing: Iterable<string>): string | undefined {
  const { base } = parseLineage(title);
  let highest = 0;
  for (const other of existing) highest = Math.max(highest, parseNumberUnder(base, other) ?? 0);
  const next = highest === 0 ? base : `${base} #${highest + 1}`;
  // A number too large to be read back as one would be given out again and again.
  const fits = [...next].length <= MAX_TITLE_LENGTH && parseNumberUnder(base, next) !== undefined;
  return fits ? next : undefined;
}

/**
 * What a person means by a title. One that ends in a number means exactly that one; a bare one means the highest
 * number of its lineage. Only whole titles count: "PR" never finds "PR #438 fix auth".
 */
export function findTitleMatch<T extends { readonly title: string }>(
  wanted: string,
  candidates: Iterable<T>,
): T | undefined {
  const exactOnly = parseLineage(wanted).base !== wanted;
  let best: { readonly number: number; readonly candidate: T } | undefined;
  for (const candidate of candidates) {
    const exact = candidate.title === wanted;
    if (exactOnly && exact) return candidate;
    const number = exactOnly ? undefined : parseNumberUnder(wanted, candidate.title);
    if (number === undefined) continue;
    // `t` and `t #1` share a number; then the one that was asked for word by word wins.
    if (best === undefined || number > best.number || (number === best.number && exact)) {
      best = { number, candidate };
    }
  }
  return best?.candidate;
}

/** The number of a title below this base; `undefined` for a title of another lineage. */
function parseNumberUnder(base: string, title: string): number | undefined {
  if (title === base) return 1;
  const lineage = parseLineage(title);
  return lineage.base === base ? lineage.number : undefined;
}

const MAX_AUTO_TITLE = 80;
/** Of what a model proposed, so much is read: the rest cannot become part of a title. */
const MAX_PROPOSED = 1000;

/** The title a model proposed, without the wrapping that models put around it. */
export function cleanProposedTitle(raw: string): string | undefined {
  let title = stripInvisible(raw.slice(0, MAX_PROPOSED));
  for (let before = ""; before !== title; ) {
    before = title;
    title = stripQuotes(title.replace(/^title\s*:/i, "").trim());
  }
  return title === "" ? undefined : shorten(title, MAX_AUTO_TITLE, MAX_AUTO_TITLE - ELLIPSIS.length);
}

const QUOTES = ['""', "''", "``", "“”", "„“", "„”", "‘’", "‚‘", "«»", "»«", "‹›", "「」", "『』"];

function stripQuotes(text: string): string {
  const closing = text.charAt(text.length - 1);
  // Not `"this" and "that"`; but an apostrophe inside a word is no quote.
  const inner = text.slice(1, -1).replaceAll(/(?<=\p{L})['’](?=\p{L})/gu, "");
  const wrapped = QUOTES.includes(text.charAt(0) + closing) && !inner.includes(closing);
  return wrapped ? text.slice(1, -1).trim() : text;
}

const PREVIEW_LENGTH = 60;

/** The start of a text on one line, for lists; "" when there is none. */
export function buildPreview(text: string | undefined): string {
  // Only a head: a message may have millions of characters, of which two units make at most one of ours.
  const head = (text ?? "").trim().slice(0, 2 * (PREVIEW_LENGTH + 1));
  return shorten(head.replaceAll(/\r\n|[\r\n]/g, " "), PREVIEW_LENGTH, PREVIEW_LENGTH);
}

const ELLIPSIS = "...";

/** Cut by code points, so never inside a surrogate pair. */
function shorten(text: string, limit: number, keep: number): string {
  const characters = [...text];
  return characters.length > limit ? characters.slice(0, keep).join("") + ELLIPSIS : text;
}
