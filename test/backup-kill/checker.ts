import { check, checkIndex, type Findings, keysIn } from "../kill/checker.ts";
import type { Operation } from "../kill/journal.ts";

/**
 * Holds a copy against the journal of those who wrote the original. A copy is of one instant: whatever was acknowledged
 * when it was begun is there, and so is whatever was acknowledged before anything that is there began; the rest is there
 * whole or not at all.
 */
export function checkCopy(
  copy: string,
  journal: readonly Operation[],
  /** How many lines had been heard when the copy was begun, and when it was surely made. */
  { before, after }: { readonly before: number; readonly after: number },
): Findings {
  const present = keysIn(copy);
  let instant = before;
  for (const { key, begunAt } of journal) if (present.has(key)) instant = Math.max(instant, begunAt);
  const asOfThen = journal
    .filter(({ begunAt }) => begunAt < after)
    .map((one): Operation => {
      if (one.doneAt !== undefined && one.doneAt < instant) return one;
      const { result: _result, refused: _refused, ...begun } = one;
      return begun;
    });
  const findings = check(copy, asOfThen);
  try {
    checkIndex(copy);
  } catch (error) {
    findings.broken.push(`the index: ${error}`);
  }
  return findings;
}
