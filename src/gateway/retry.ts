import type { Delivery, DeliveryFailures, Settle } from "../core/delivery.ts";
import type { Clock } from "../ports/clock.ts";
import type { SendOutcome } from "../ports/platform.ts";
import { CLOCK_CHECK_MS, type DueTime, restoreDueTime } from "../system/pause.ts";

/** Doubling from here, */
const FIRST_RETRY_MS = 1000;
/** up to here; up to an hour for one that has stepped aside. */
const LONGEST_RETRY_MS = 10 * 60_000;
const LONGEST_DEFERRED_MS = 60 * 60_000;
/** A platform that cannot be asked is asked so often: more than a day in all. */
const MOST_ATTEMPTS = 160;
/** A delivery that the platform answers with an error so often steps aside, after about 15 seconds, */
const DEFER_AFTER_FAILURES = 5;
/** and is dead after so many, about a day later. */
const MOST_FAILURES = 35;

/** What an attempt that failed means for the delivery. */
export function decideRetry(
  { status }: Delivery,
  sent: Exclude<SendOutcome, { state: "sent" }>,
  clock: Clock,
): { readonly outcome: Settle["outcome"]; readonly waitMs: number } {
  const { attempts } = status;
  const { failures: before = 0, deferredAt }: DeliveryFailures =
    "nextAt" in status || "runner" in status ? status : {};
  const failed = sent.state !== "refused" && sent.cause === "message";
  const failures = before + (failed ? 1 : 0);
  if (sent.state === "refused" || attempts >= MOST_ATTEMPTS || failures >= MOST_FAILURES)
    return { outcome: { state: "dead", error: sent.reason }, waitMs: 0 };
  const aside = deferredAt !== undefined || failures >= DEFER_AFTER_FAILURES;
  const asked = sent.state === "not_sent" ? sent.retryAfterMs : undefined;
  // A long outage before says nothing about this message: its own errors count from the first.
  const waitMs = asked ?? computeBackOff(failed ? failures : attempts, aside, clock);
  const shown = "shown" in status ? status.shown : "nothing";
  return {
    outcome: {
      state: "waiting",
      nextAt: clock.now() + waitMs,
      error: sent.reason,
      ...(sent.state === "unknown" && typeof shown === "string" && { shown: "unknown" }),
      ...(failed && { failed }),
      ...(aside && { deferred: aside }),
    },
    waitMs,
  };
}

/** When a delivery that was read from the store is due: never later than its back-off could have made it. */
export function getDeliveryDueTime({ status }: Delivery, clock: Clock): DueTime {
  if (status.state !== "waiting") return { monotonic: 0, system: 0 };
  const isAside = status.deferredAt !== undefined;
  const longest = computeBackOffStep(status.attempts, isAside) * LONGEST_SHARE;
  return restoreDueTime(clock, status.nextAt, isAside ? longest : Math.min(longest, CLOCK_CHECK_MS));
}

/** Neighbours do not retry in step: each waits for three to five quarters of the step. */
const SHORTEST_SHARE = 0.75;
const LONGEST_SHARE = 1.25;

function computeBackOff(attempts: number, isAside: boolean, clock: Clock): number {
  const [chance = 0] = clock.random(1);
  const share = SHORTEST_SHARE + (chance / 256) * (LONGEST_SHARE - SHORTEST_SHARE);
  return Math.round(computeBackOffStep(attempts, isAside) * share);
}

function computeBackOffStep(attempts: number, isAside: boolean): number {
  const longest = isAside ? LONGEST_DEFERRED_MS : LONGEST_RETRY_MS;
  return Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(20, Math.max(0, attempts - 1)));
}
