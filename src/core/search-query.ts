import { extractTerms } from "./search-terms.ts";

/**
 * The tokenizer for an FTS5 table over `indexedText`. It divides at ASCII characters that are no letter or digit
 * and nowhere else, and terms hold none of those: so SQLite's older Unicode tables never decide about a term.
 */
export const FTS5_TOKENIZE: string = "ascii";

/** Read up to here: a pasted page is not a question, and each term costs a walk through the index. */
export const MAX_QUERY_TERMS: number = 64;

const MAX_QUERY_CHARS = 4096;

/** Terms that must follow one another; with `prefix`, the last need only begin so. */
export interface SearchClause {
  readonly terms: readonly string[];
  readonly prefix: boolean;
}

/** All of `required`, which is never empty, and none of `excluded`. */
export interface SearchAlternative {
  readonly required: readonly SearchClause[];
  readonly excluded: readonly SearchClause[];
}

/** Any of the alternatives; none at all when there is nothing to look for. */
export interface SearchQuery {
  readonly alternatives: readonly SearchAlternative[];
}

/**
 * What people type: words, "phrases", word*, OR, -word. Everything else is text, so nothing is an error. Words
 * bind closer than OR: `a b OR c` looks for a with b, or for c. AND between words is implied, NOT is a minus.
 */
export function parseQuery(text: string): SearchQuery {
  const alternatives: SearchAlternative[] = [];
  let required: SearchClause[] = [];
  let excluded: SearchClause[] = [];
  let negated = false;
  let room = MAX_QUERY_TERMS;
  const close = (): void => {
    // "Everything but this" is no search: it would show every message there is.
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
        // Shortened, it would leave out more than was asked for.
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

/** The FTS5 expression, every term quoted; `undefined` when there is nothing to look for. */
export function toFts5(query: SearchQuery): string | undefined {
  if (query.alternatives.length === 0) return undefined;
  return query.alternatives.map(alternativeToFts5).join(" OR ");
}

/** Whether a text with these terms, in their order, is what FTS5 would find. */
export function matchesQuery(query: SearchQuery, terms: readonly string[]): boolean {
  const found = (clause: SearchClause): boolean => findClause(clause, terms, 0) >= 0;
  return query.alternatives.some(({ required, excluded }) => required.every(found) && !excluded.some(found));
}

/** Where the clause begins in `terms`, at `from` or later; −1 if nowhere. */
export function findClause(clause: SearchClause, terms: readonly string[], from: number): number {
  const last = clause.terms.length - 1;
  const isAt = (start: number): boolean =>
    clause.terms.every((wanted, i) => {
      const term = terms[start + i];
      return i === last && clause.prefix ? term?.startsWith(wanted) : term === wanted;
    });
  for (let start = from; start + last < terms.length; start++) if (isAt(start)) return start;
  return -1;
}

/** On a phone, quotes are curly. */
const CURLY_QUOTES = /[“”„‟＂]/g;

/**
 * A closed phrase, or a word up to a space or quote. A quote that is never closed is skipped and its words remain;
 * two dashes are an option's name, not a minus.
 */
const ITEM = /(?<minus>(?<=^|\s)-(?=[^\s-]))?(?:"(?<phrase>[^"]*)"(?<star>\**)|(?<word>[^\s"]+))/g;

function parseWordClause(word: string): SearchClause | undefined {
  const bare = word.replace(/\*+$/, "");
  return buildClause(bare, bare !== word);
}

/** A star counts only directly after a word: `C++*` looks for c, not for everything that begins with c. */
function buildClause(text: string, star: boolean): SearchClause | undefined {
  const terms = extractTerms(text);
  if (terms.length === 0) return undefined;
  return { terms, prefix: star && /[\p{L}\p{N}\p{M}]$/u.test(text) };
}

function limitClause(clause: SearchClause, room: number): SearchClause {
  return clause.terms.length <= room ? clause : { terms: clause.terms.slice(0, room), prefix: false };
}

function alternativeToFts5({ required, excluded }: SearchAlternative): string {
  const wanted = required.map(clauseToFts5).join(" AND ");
  if (excluded.length === 0) return `(${wanted})`;
  return `((${wanted}) NOT (${excluded.map(clauseToFts5).join(" OR ")}))`;
}

function clauseToFts5({ terms, prefix }: SearchClause): string {
  const phrase = `"${terms.join(" ").replaceAll('"', '""')}"`;
  return prefix ? `${phrase} *` : phrase;
}
