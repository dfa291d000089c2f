import { EDITOR_PLATFORM } from "../../core/platforms.ts";
import type { ClaimBy } from "../../core/turn.ts";
import type { Db } from "./db.ts";
import { createLivenessCache, isRunnerAliveCached } from "./runners.ts";

interface PendingInput {
  readonly platform: string;
  /** The runner that accepted it. */
  readonly runner: string | null;
}

/** The pending inputs that this runner may claim, in order. Inputs of an editor belong to its process while it lives. */
export function filterClaimable<Row extends PendingInput>(
  db: Db,
  pending: readonly Row[],
  by: Pick<ClaimBy, "runner" | "own">,
  now: number,
): Row[] {
  if (by.own) return pending.filter(({ runner }) => runner === by.runner);
  const others = by.own === false ? pending.filter(({ runner }) => runner !== by.runner) : pending;
  return filterReachable(db, others, now, by.runner);
}

/** Excludes the inputs that only another live process can answer. */
export function filterReachable<Row extends PendingInput>(
  db: Db,
  pending: readonly Row[],
  now: number,
  ownRunner?: string,
): Row[] {
  const cache = createLivenessCache();
  return pending.filter(
    ({ platform, runner }) =>
      platform !== EDITOR_PLATFORM ||
      runner === null ||
      runner === ownRunner ||
      !isRunnerAliveCached(db, cache, runner, now),
  );
}
