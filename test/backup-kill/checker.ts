import { check, checkIndex, type Findings, keysIn } from "../kill/checker.ts";
import type { Operation } from "../kill/journal.ts";

/**
 * Compares a copy with the journal of the writers. A copy is of one instant: it contains every operation that was
 * acknowledged before the copy started, and every operation that was acknowledged before another contained one started;
 * it contains the others completely or not at all.
 */
export function checkCopy(
  copy: string,
  journal: readonly Operation[],
  /** The number of received lines before the copy started, and when it was certainly complete. */
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
