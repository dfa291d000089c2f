/** The errors, one sentence each. */
export interface Findings {
  /** A request without an answer or a notice; or an answer that claims something that was not done. */
  readonly lost: string[];
  /** Done, answered or reported more often than requested. */
  readonly doubled: string[];
  /** In a chat or folder of another person. */
  readonly crossed: string[];
  /** A violation of a rule. */
  readonly broken: string[];
}

export function noFindings(): Findings {
  return { lost: [], doubled: [], crossed: [], broken: [] };
}

/** The time after a kill until a new keeper has checked its processes. */
const KEEPER_MS = 3000;

/** Whether the keeper was killed in this time, so that the exit of a process may be unknown. */
export function wasKeeperKilled(kills: readonly number[], from: number, to: number): boolean {
  return kills.some((at) => at >= from - KEEPER_MS && at <= to + KEEPER_MS);
}
