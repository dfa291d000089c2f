import { extractTerms } from "./search-terms.ts";

/**
 * The tokenizer of an FTS5 table over `buildIndexText`. It splits only at ASCII characters that no term contains, so the
 * version of SQLite's Unicode tables does not matter.
 */
export const FTS5_TOKENIZE: string = "ascii";

/** Further terms are ignored, because each one costs an index scan. */
export const MAX_QUERY_TERMS: number = 64;

const MAX_QUERY_CHARS = 4096;

/** Consecutive terms. With `prefix`, the last one is a prefix. */
export interface SearchClause {
  readonly terms: readonly string[];
  readonly prefix: boolean;
}

/** Matches all of `required`, which is never empty, and none of `excluded`. */
export interface SearchAlternative {
  readonly required: readonly SearchClause[];
  readonly excluded: readonly SearchClause[];
}

/** Matches any of the alternatives. Empty if there is nothing to search for. */
export interface SearchQuery {
  readonly alternatives: readonly SearchAlternative[];
}

/**
 * Parses words, "phrases", word*, OR and -word; all other input is text, so there are no errors. `a b OR c` means
 * (a AND b) OR c. AND between words is implied, NOT is the same as a minus.
 */
export function parseQuery(text: string): SearchQuery {
  const alternatives: SearchAlternative[] = [];
  let required: SearchClause[] = [];
  let excluded: SearchClause[] = [];
  let negated = false;
  let room = MAX_QUERY_TERMS;
  const close = (): void => {
    // A query with exclusions only would match almost every message.
    if (required.length > 0) alternatives.push({ required, excluded });
    required = [];
    excluded = [];
    negated = false;
  };
  for (const item of text.slice(0, MAX_QUERY_CHARS).replace(CURLY_QUOTES, '"').matchAll(ITEM)) {
    const { minus, phrase, star, word } = item.groups ?? {};
    const operator = minus === undefined ? word : undefined;
    if (operator === "OR") close();
    else if (operator === "NOT") negated = true;
    else if (operator !== "AND") {
      const clause = phrase === undefined ? parseWordClause(word ?? "") : buildClause(phrase, star !== "");
      if (clause === undefined) continue;
      if (negated || minus === "-") {
        // A shortened exclusion would exclude too much.
        if (clause.terms.length <= room) excluded.push(clause);
      } else if (room > 0) {
        required.push(limitClause(clause, room));
      }
      room -= clause.terms.length;
      negated = false;
    }
  }
  close();
  return { alternatives };
}

/** Whether FTS5 would find a text with these terms in this order. */
export function matchesQuery(query: SearchQuery, terms: readonly string[]): boolean {
  const found = (clause: SearchClause): boolean => findClause(clause, terms, 0) >= 0;
  return query.alternatives.some(({ required, excluded }) => required.every(found) && !excluded.some(found));
}

/** The index in `terms`, at `from` or later, at which the clause matches; −1 if none. */
export function findClause(clause: SearchClause, terms: readonly string[], from: number): number {
  const last = clause.terms.length - 1;
  const isAt = (start: number): boolean =>
    clause.terms.every((expected, i) => {
      const term = terms[start + i];
      return i === last && clause.prefix ? term?.startsWith(expected) : term === expected;
    });
  for (let start = from; start + last < terms.length; start++) if (isAt(start)) return start;
  return -1;
}

/** Phones insert curly quotes. */
const CURLY_QUOTES = /[“”„‟＂]/g;

/** A closed phrase, or a word up to a space or quote. An unclosed quote is ignored; two dashes are not a minus. */
const ITEM = /(?<minus>(?<=^|\s)-(?=[^\s-]))?(?:"(?<phrase>[^"]*)"(?<star>\**)|(?<word>[^\s"]+))/g;

function parseWordClause(word: string): SearchClause | undefined {
  const bare = word.replace(/\*+$/, "");
  return buildClause(bare, bare !== word);
}

/** A star counts only directly after a word: `C++*` searches for c, not for all words that start with c. */
function buildClause(text: string, star: boolean): SearchClause | undefined {
  const terms = extractTerms(text);
  if (terms.length === 0) return undefined;
  return { terms, prefix: star && /[\p{L}\p{N}\p{M}]$/u.test(text) };
}

function limitClause(clause: SearchClause, room: number): SearchClause {
  return clause.terms.length <= room ? clause : { terms: clause.terms.slice(0, room), prefix: false };
}
