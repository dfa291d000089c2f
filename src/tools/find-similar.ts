/** The minimum similarity, from 0 to 1. */
const MIN_SIMILARITY = 0.4;
/** The compared length of each text: more costs time and changes little. */
const MAX_LENGTH = 400;
/** The maximum number of compared texts. */
const MAX_COMPARED = 20_000;

/** Finds the most similar texts, best first. */
export function findMostSimilar(texts: readonly string[], target: string, limit: number): readonly string[] {
  const pairs = countPairs(target);
  return texts
    .slice(0, MAX_COMPARED)
    .map((text) => ({ text, likeness: measureSimilarity(pairs, countPairs(text)) }))
    .filter((one) => one.likeness >= MIN_SIMILARITY)
    .toSorted((a, b) => b.likeness - a.likeness)
    .slice(0, limit)
    .map(({ text }) => text);
}

/** The Sørensen–Dice coefficient: the share of common letter pairs. */
function measureSimilarity(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): number {
  let shared = 0;
  for (const [pair, times] of one) shared += Math.min(times, other.get(pair) ?? 0);
  const all = sumPairs(one) + sumPairs(other);
  return all === 0 ? 0 : (2 * shared) / all;
}

/** Adds a space at both ends, so that a single letter has pairs too. */
function countPairs(text: string): ReadonlyMap<string, number> {
  const letters = ` ${text.slice(0, MAX_LENGTH).trim().toLowerCase()} `;
  const pairs = new Map<string, number>();
  for (let at = 0; at + 2 <= letters.length; at += 1) {
    const pair = letters.slice(at, at + 2);
    if (pair !== "  ") pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

function sumPairs(pairs: ReadonlyMap<string, number>): number {
  return [...pairs.values()].reduce((total, times) => total + times, 0);
}
