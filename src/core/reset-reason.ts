/** A conversation last active before one of these starts fresh. */
export interface ResetInstants {
  readonly idleBefore?: number;
  readonly dailyBefore?: number;
}

export type ResetReason = "idle" | "daily";

/** Activity exactly at an instant still counts. When both hold, idle is the reason given. */
export function resetReason(activeAt: number, instants: ResetInstants): ResetReason | undefined {
  if (instants.idleBefore !== undefined && activeAt < instants.idleBefore) return "idle";
  if (instants.dailyBefore !== undefined && activeAt < instants.dailyBefore) return "daily";
  return undefined;
}
