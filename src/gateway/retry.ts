import type { Delivery, Settle, Trouble } from "../core/delivery.ts";
import type { Clock } from "../ports/clock.ts";
import type { Sent } from "../ports/platform.ts";
import { type Due, dueAt, LOOK_AGAIN_MS } from "../system/pause.ts";

/** Doubling from here, */
const FIRST_RETRY_MS = 1000;
/** up to here; up to an hour for one that has stepped aside. */
const LONGEST_RETRY_MS = 10 * 60_000;
const LONGEST_ASIDE_MS = 60 * 60_000;
/** A platform that cannot be asked is asked so often: more than a day in all. */
const MOST_ATTEMPTS = 160;
/** A delivery that the platform answers with an error so often steps aside, after about 15 seconds, */
const ASIDE_AFTER_FAILURES = 5;
/** and is dead after so many, about a day later. */
const MOST_FAILURES = 35;

/** What an attempt that failed means for the delivery. */
export function outcomeOf(
  { status }: Delivery,
  sent: Exclude<Sent, { state: "sent" }>,
  clock: Clock,
): { readonly outcome: Settle["outcome"]; readonly waitMs: number } {
  const { attempts } = status;
  const { failures: before = 0, asideAt }: Trouble = "nextAt" in status || "runner" in status ? status : {};
  const failed = sent.state !== "refused" && sent.cause === "message";
  const failures = before + (failed ? 1 : 0);
  if (sent.state === "refused" || attempts >= MOST_ATTEMPTS || failures >= MOST_FAILURES)
    return { outcome: { state: "dead", error: sent.reason }, waitMs: 0 };
  const aside = asideAt !== undefined || failures >= ASIDE_AFTER_FAILURES;
  const asked = sent.state === "not_sent" ? sent.retryAfterMs : undefined;
  // A long outage before says nothing about this message: its own errors count from the first.
  const waitMs = asked ?? backOff(failed ? failures : attempts, aside, clock);
  const shown = "shown" in status ? status.shown : "nothing";
  return {
    outcome: {
      state: "waiting",
      nextAt: clock.now() + waitMs,
      error: sent.reason,
      ...(sent.state === "unknown" && typeof shown === "string" && { shown: "unknown" }),
      ...(failed && { failed }),
      ...(aside && { aside }),
    },
    waitMs,
  };
}

/** When a delivery that was read from the store is due: never later than its back-off could have made it. */
export function dueOf({ status }: Delivery, clock: Clock): Due {
  if (status.state !== "waiting") return { monotonic: 0, system: 0 };
  const isAside = status.asideAt !== undefined;
  const longest = stepOf(status.attempts, isAside) * LONGEST_SHARE;
  return dueAt(clock, status.nextAt, isAside ? longest : Math.min(longest, LOOK_AGAIN_MS));
}

/** Neighbours do not retry in step: each waits for three to five quarters of the step. */
const SHORTEST_SHARE = 0.75;
const LONGEST_SHARE = 1.25;

function backOff(attempts: number, isAside: boolean, clock: Clock): number {
  const [chance = 0] = clock.random(1);
  const share = SHORTEST_SHARE + (chance / 256) * (LONGEST_SHARE - SHORTEST_SHARE);
  return Math.round(stepOf(attempts, isAside) * share);
}

function stepOf(attempts: number, isAside: boolean): number {
  const longest = isAside ? LONGEST_ASIDE_MS : LONGEST_RETRY_MS;
  return Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(20, Math.max(0, attempts - 1)));
}
