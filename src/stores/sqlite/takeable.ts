import { EDITOR } from "../../core/platforms.ts";
import type { ClaimBy } from "../../core/turn.ts";
import type { Db } from "./connection.ts";
import { whoLives } from "./runners.ts";

interface Waiting {
  readonly platform: string;
  /** Who accepted it. */
  readonly runner: string | null;
}

/** Of what waits, in order, that which this runner may take. What an editor's live process has accepted is left to it. */
export function takeable<Row extends Waiting>(
  db: Db,
  waiting: readonly Row[],
  by: Pick<ClaimBy, "runner" | "own">,
  now: number,
): Row[] {
  if (by.own) return waiting.filter(({ runner }) => runner === by.runner);
  return reachable(db, waiting, now, by.runner);
}

/** Without what only another process that lives can answer. */
export function reachable<Row extends Waiting>(
  db: Db,
  waiting: readonly Row[],
  now: number,
  here?: string,
): Row[] {
  const isAlive = whoLives(db, now);
  return waiting.filter(
    ({ platform, runner }) => platform !== EDITOR || runner === null || runner === here || !isAlive(runner),
  );
}
