/** A conversation that was last active before one of these times is stale. */
export interface ResetInstants {
  readonly idleBefore?: number;
  readonly dailyBefore?: number;
}

export type ResetReason = "idle" | "daily";

/** Activity exactly at one of the times still counts. If both apply, the reason is `idle`. */
export function resetReason(activeAt: number, instants: ResetInstants): ResetReason | undefined {
  if (instants.idleBefore !== undefined && activeAt < instants.idleBefore) return "idle";
  if (instants.dailyBefore !== undefined && activeAt < instants.dailyBefore) return "daily";
  return undefined;
}
