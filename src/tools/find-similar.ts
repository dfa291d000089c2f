/** How much two texts must share to be called alike, from 0 to 1. */
const MIN_SIMILARITY = 0.4;
/** What is compared of each: the rest of a long one changes little, and costs much. */
const LONGEST = 400;
/** So many texts are compared: each costs a table of its pairs. */
const MOST_COMPARED = 20_000;

/** Those of the texts that are most like this one, the nearest first; none if nothing is like it. */
export function findMostSimilar(texts: readonly string[], wanted: string, most: number): readonly string[] {
  const pairs = countPairs(wanted);
  return texts
    .slice(0, MOST_COMPARED)
    .map((text) => ({ text, likeness: measureSimilarity(pairs, countPairs(text)) }))
    .filter((one) => one.likeness >= MIN_SIMILARITY)
    .toSorted((a, b) => b.likeness - a.likeness)
    .slice(0, most)
    .map(({ text }) => text);
}

/** Sørensen and Dice: the share of pairs of letters that both have. */
function measureSimilarity(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): number {
  let shared = 0;
  for (const [pair, times] of one) shared += Math.min(times, other.get(pair) ?? 0);
  const all = sumPairs(one) + sumPairs(other);
  return all === 0 ? 0 : (2 * shared) / all;
}

/** With an edge at both ends, so that a single letter is a text, too. */
function countPairs(text: string): ReadonlyMap<string, number> {
  const letters = ` ${text.slice(0, LONGEST).trim().toLowerCase()} `;
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
