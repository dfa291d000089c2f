import { EDITOR_PLATFORM } from "../../core/platforms.ts";
import type { ClaimBy } from "../../core/turn.ts";
import type { Db } from "./connection.ts";
import { buildLivenessCheck } from "./runners.ts";

interface PendingInput {
  readonly platform: string;
  /** Who accepted it. */
  readonly runner: string | null;
}

/** Of what waits, in order, that which this runner may take. What an editor's live process has accepted is left to it. */
export function filterClaimable<Row extends PendingInput>(
  db: Db,
  waiting: readonly Row[],
  by: Pick<ClaimBy, "runner" | "own">,
  now: number,
): Row[] {
  if (by.own) return waiting.filter(({ runner }) => runner === by.runner);
  return filterReachable(db, waiting, now, by.runner);
}

/** Without what only another process that lives can answer. */
export function filterReachable<Row extends PendingInput>(
  db: Db,
  waiting: readonly Row[],
  now: number,
  here?: string,
): Row[] {
  const isAlive = buildLivenessCheck(db, now);
  return waiting.filter(
    ({ platform, runner }) =>
      platform !== EDITOR_PLATFORM || runner === null || runner === here || !isAlive(runner),
  );
}
