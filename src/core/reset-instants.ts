import type { ResetPolicy } from "./reset-policy.ts";
import type { ResetInstants, ResetReason } from "./reset-reason.ts";
import { findLastDailyBoundary, findNextDailyBoundary } from "./zone.ts";

/** Whoever was active before one of these starts afresh. */
export function computeResetInstants(policy: ResetPolicy, now: number, zone: string): ResetInstants {
  return {
    ...(resetsWhenIdle(policy) && { idleBefore: now - policy.idleMinutes * MINUTE }),
    ...(resetsDaily(policy) && { dailyBefore: findLastDailyBoundary(now, policy.atHour, zone) }),
  };
}

/** The first instant at which `resetReason` would answer, if nothing more is said: for people to read. */
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
  // Someone who means "never" may write a silence that no calendar can show.
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
