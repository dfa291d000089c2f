import type { PolicyDecision } from "./conversation.ts";
import type { ResetPolicy, ResetReason } from "./reset-policy.ts";

/** Describes a policy. The result follows "starts afresh" in a sentence. */
export function formatResetPolicy({ mode, idleMinutes, atHour }: ResetPolicy, zone?: string): string {
  const idle = `after ${idleMinutes} ${idleMinutes === 1 ? "minute" : "minutes"} of silence`;
  const daily = `daily at ${String(atHour).padStart(2, "0")}:00${zone === undefined ? "" : ` (${zone})`}`;
  return { none: "never starts afresh", idle, daily, both: `${idle}, and ${daily}` }[mode];
}

export const RESET_REASON_LABELS: Readonly<Record<ResetReason, string>> = {
  idle: "after a silence",
  daily: "at the daily hour",
};

export const DECISION_LABELS: Readonly<Record<PolicyDecision["decision"], string>> = {
  created: "began",
  reset: "started afresh",
  expired: "expired, and starts afresh with the next message",
  kept_busy: "should have started afresh, but was busy",
  new: "a new session was asked for",
  switched: "went to another session",
  merged: "was merged with another",
};
