import type { ResetPolicy } from "./reset-policy.ts";
import type { ResetInstants, ResetReason } from "./reset-reason.ts";
import { findLastDailyBoundary, findNextDailyBoundary } from "./zone.ts";

/** A conversation that was last active before one of these times starts a new session. */
export function computeResetInstants(policy: ResetPolicy, now: number, zone: string): ResetInstants {
  return {
    ...(resetsWhenIdle(policy) && { idleBefore: now - policy.idleMinutes * MINUTE }),
    ...(resetsDaily(policy) && { dailyBefore: findLastDailyBoundary(now, policy.atHour, zone) }),
  };
}

/** The time of the next reset if there is no further activity. For display. */
export function nextReset(
  activeAt: number,
  policy: ResetPolicy,
  zone: string,
): { readonly at: number; readonly reason: ResetReason } | undefined {
  const idle = resetsWhenIdle(policy) ? activeAt + policy.idleMinutes * MINUTE + 1 : Number.POSITIVE_INFINITY;
  const daily = resetsDaily(policy)
    ? findNextDailyBoundary(activeAt, policy.atHour, zone)
    : Number.POSITIVE_INFINITY;
  const at = Math.min(idle, daily);
  // A configured idle time can be so long that no date can represent its end.
  if (at > LAST_DATE) return undefined;
  return { at, reason: at === idle ? "idle" : "daily" };
}

const MINUTE = 60_000;
const LAST_DATE = 8.64e15;

function resetsWhenIdle({ mode }: ResetPolicy): boolean {
  return mode === "idle" || mode === "both";
}

function resetsDaily({ mode }: ResetPolicy): boolean {
  return mode === "daily" || mode === "both";
}
