import type { SearchAlternative, SearchClause, SearchQuery } from "../../core/search-query.ts";

/** PostgreSQL stores no later position, and at most this many of one term. */
const MAX_POSITION = 16_383;
const MAX_POSITIONS_PER_TERM = 255;
/** A vector has a limit of 1 MB. Texts are indexed up to a length that reaches it only if hardly a word is repeated. */
const MAX_VECTOR_BYTES = 1_000_000;

/** The clauses whose matches count for the rank. */
export function listClauses({ alternatives }: SearchQuery): readonly SearchClause[] {
  return alternatives.flatMap(({ required }) => required);
}

/**
 * The expression that every match of the query fulfils; `undefined` if there is nothing to search for. It ignores the
 * order of the terms of a phrase: positions are incomplete in long texts.
 */
export function buildTsquery({ alternatives }: SearchQuery): string | undefined {
  if (alternatives.length === 0) return undefined;
  return alternatives.map(buildAlternative).join(" | ");
}

function buildAlternative({ required, excluded }: SearchAlternative): string {
  // A text may contain all terms of an excluded phrase, but not the phrase.
  const words = excluded.filter(({ terms }) => terms.length === 1);
  const all = [...required.map(buildClause), ...words.map((clause) => `!${buildClause(clause)}`)];
  return `(${all.join(" & ")})`;
}

function buildClause({ terms, prefix }: SearchClause): string {
  return `(${terms.map(quoteTerm).join(" & ")}${prefix ? ":*" : ""})`;
}

/** The text form of a vector of these terms. */
export function buildTsvector(terms: readonly string[]): string {
  const positions = new Map<string, number[]>();
  let bytes = 0;
  terms.forEach((term, index) => {
    const known = positions.get(term);
    if (known !== undefined) {
      if (known.length < MAX_POSITIONS_PER_TERM && index < MAX_POSITION) {
        known.push(index + 1);
        bytes += 2;
      }
      return;
    }
    // Its letters, its number of positions and the first of them, and alignment.
    bytes += Buffer.byteLength(term) + 6;
    if (bytes <= MAX_VECTOR_BYTES) positions.set(term, [Math.min(index + 1, MAX_POSITION)]);
  });
  return [...positions].map(([term, at]) => `${quoteTerm(term)}:${at.join(",")}`).join(" ");
}

function quoteTerm(term: string): string {
  return `'${term.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
