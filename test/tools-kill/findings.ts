/** What went wrong, a sentence each. */
export interface Findings {
  /** Asked for, and neither answered nor told of; or done as it says, and not there. */
  readonly lost: string[];
  /** Done, answered or told more often than asked for. */
  readonly doubled: string[];
  /** In a place of somebody else. */
  readonly crossed: string[];
  /** Against a rule. */
  readonly broken: string[];
}

export function noFindings(): Findings {
  return { lost: [], doubled: [], crossed: [], broken: [] };
}

/** Between a kill and what comes of it there are a new keeper, its first look, and the machine. */
const KEEPER_MS = 3000;

/** Whether the keeper was killed in this time, so that nobody could see how what ran then has ended. */
export function keeperFell(kills: readonly number[], from: number, to: number): boolean {
  return kills.some((at) => at >= from - KEEPER_MS && at <= to + KEEPER_MS);
}
