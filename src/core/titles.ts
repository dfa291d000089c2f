import { PostriderError } from "./errors.ts";

/** In code points, not UTF-16 units. */
export const MAX_TITLE_LENGTH: number = 100;

/** The title on one line, or `undefined` if it has no visible characters. */
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

/** Like `cleanTitle`, but cuts a title that is too long. */
export function cutTitle(raw: string): { readonly title?: string; readonly isCut: boolean } {
  const characters = [...stripInvisible(raw)];
  const title = characters.slice(0, MAX_TITLE_LENGTH).join("").trim();
  return { ...(title !== "" && { title }), isCut: characters.length > MAX_TITLE_LENGTH };
}

/** Control characters except whitespace, zero-width and bidi marks, invisible operators, BOM, annotation and object marks. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc]|\p{Cs}/gu;

// JavaScript does not count the line break U+0085 as whitespace. Databases cannot store lone surrogates (\p{Cs}).
function stripInvisible(raw: string): string {
  return raw
    .replaceAll(INVISIBLE, "")
    .replaceAll(/[\s\u0085]+/g, " ")
    .trim();
}

/** A title and its number among titles with the same base. */
export interface TitleLineage {
  readonly base: string;
  readonly number: number;
}

/** `notes #3` is number 3 of `notes`. A title without a number is number 1. */
export function parseLineage(title: string): TitleLineage {
  // Ten or more digits, or a leading zero, are an order number or a date, not a count.
  const [, base, number] = /^(.*\S) #([1-9]\d{0,8})$/su.exec(title) ?? [];
  if (base === undefined || number === undefined) return { base: title, number: 1 };
  return { base, number: Number(number) };
}

/** The next title of the lineage: the base if it is free, else the highest number plus one. `undefined` if too long. */
export function buildNextTitle(title: string, existing: Iterable<string>): string | undefined {
  const { base } = parseLineage(title);
  let highest = 0;
  for (const other of existing) highest = Math.max(highest, parseNumberUnder(base, other) ?? 0);
  const next = highest === 0 ? base : `${base} #${highest + 1}`;
  // A number that `parseLineage` cannot read would be assigned repeatedly.
  const fits = [...next].length <= MAX_TITLE_LENGTH && parseNumberUnder(base, next) !== undefined;
  return fits ? next : undefined;
}

/**
 * Finds a session by title. A title with a number matches exactly; one without matches the highest number of its lineage.
 * Only whole titles match: "PR" never finds "PR #438 fix auth".
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
    // `t` and `t #1` have the same number. The exact title wins.
    if (best === undefined || number > best.number || (number === best.number && exact)) {
      best = { number, candidate };
    }
  }
  return best?.candidate;
}

/** The number of a title with this base. `undefined` for another lineage. */
function parseNumberUnder(base: string, title: string): number | undefined {
  if (title === base) return 1;
  const lineage = parseLineage(title);
  return lineage.base === base ? lineage.number : undefined;
}

const MAX_AUTO_TITLE = 80;
/** The rest of a longer proposal cannot become part of a title. */
const MAX_PROPOSED = 1000;

/** Removes quotes and labels that models put around a proposed title. */
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
  // Keeps `"this" and "that"`. An apostrophe inside a word is no quote.
  const inner = text.slice(1, -1).replaceAll(/(?<=\p{L})['’](?=\p{L})/gu, "");
  const wrapped = QUOTES.includes(text.charAt(0) + closing) && !inner.includes(closing);
  return wrapped ? text.slice(1, -1).trim() : text;
}

const PREVIEW_LENGTH = 60;

/** The start of a text on one line, for lists. */
export function buildPreview(text: string | undefined): string {
  // A message may have millions of characters, so only its head is processed. A character has at most two units.
  const head = (text ?? "").trim().slice(0, 2 * (PREVIEW_LENGTH + 1));
  return shorten(head.replaceAll(/\r\n|[\r\n]/g, " "), PREVIEW_LENGTH, PREVIEW_LENGTH);
}

const ELLIPSIS = "...";

/** Cuts by code points, so never inside a surrogate pair. */
function shorten(text: string, limit: number, keep: number): string {
  const characters = [...text];
  return characters.length > limit ? characters.slice(0, keep).join("") + ELLIPSIS : text;
}
