import type { RankedHit } from "../sql/db.ts";

export interface Match {
  readonly id: number;
  /** The number of terms of the message. */
  readonly length: number;
  /** How often the message contains each clause of the query. */
  readonly counts: readonly number[];
}

/** The usual constants of BM25, as in SQLite. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/**
 * Ranks by BM25. How rare a clause is among the matches stands for how rare it is among all messages: counting those
 * takes longer than the search.
 */
export function rankMatches(matches: readonly Match[]): RankedHit[] {
  const meanLength = Math.max(1, matches.reduce((sum, { length }) => sum + length, 0) / matches.length);
  const clauses = matches[0]?.counts.length ?? 0;
  const weights = Array.from({ length: clauses }, (_, clause) => {
    const having = matches.filter(({ counts }) => (counts[clause] ?? 0) > 0).length;
    return Math.log(1 + (matches.length - having + 0.5) / (having + 0.5));
  });
  return matches.map(({ id, length, counts }) => {
    const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / meanLength);
    const score = counts.reduce(
      (sum, count, clause) => sum + ((weights[clause] ?? 0) * count * (SATURATION + 1)) / (count + norm),
      0,
    );
    return { id, rank: -score };
  });
}
