import { type BackOff, computeBackOff, computeMaxBackOff } from "../core/back-off.ts";
import type { Delivery, DeliveryFailures, Settle } from "../core/delivery.ts";
import type { Clock } from "../ports/clock.ts";
import type { SendOutcome } from "../ports/platform.ts";
import { CLOCK_CHECK_MS, type DueTime, restoreDueTime } from "../system/pause.ts";

const RETRY: BackOff = { firstMs: 1000, maxMs: 10 * 60_000, spread: [0.75, 1.25] };
const DEFERRED_RETRY: BackOff = { ...RETRY, maxMs: 60 * 60_000 };
/** While the platform cannot be reached, so many attempts take more than a day. */
const MAX_ATTEMPTS = 160;
/** A delivery that the platform answers with an error so often is deferred, after about 15 seconds. */
const DEFER_AFTER_FAILURES = 5;
/** A deferred delivery is dead after so many errors, about a day later. */
const MAX_FAILURES = 35;

/** Decides how a delivery continues after a failed attempt. */
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
  if (sent.state === "refused" || attempts >= MAX_ATTEMPTS || failures >= MAX_FAILURES)
    return { outcome: { state: "dead", error: sent.reason }, waitMs: 0 };
  const deferred = deferredAt !== undefined || failures >= DEFER_AFTER_FAILURES;
  const requestedMs = sent.state === "not_sent" ? sent.retryAfterMs : undefined;
  // An outage before says nothing about this message: its own errors count from the first.
  const waitMs = requestedMs ?? computeWait(failed ? failures : attempts, deferred, clock);
  const shown = "shown" in status ? status.shown : "nothing";
  return {
    outcome: {
      state: "waiting",
      nextAt: clock.now() + waitMs,
      error: sent.reason,
      ...(sent.state === "unknown" && typeof shown === "string" && { shown: "unknown" }),
      ...(failed && { failed }),
      ...(deferred && { deferred }),
    },
    waitMs,
  };
}

/** When a stored delivery is due: never later than its back-off could have made it. */
export function getDeliveryDueTime({ status }: Delivery, clock: Clock): DueTime {
  if (status.state !== "waiting") return { monotonic: 0, system: 0 };
  const isDeferred = status.deferredAt !== undefined;
  const maxMs = computeMaxBackOff(selectBackOff(isDeferred), status.attempts);
  return restoreDueTime(clock, status.nextAt, isDeferred ? maxMs : Math.min(maxMs, CLOCK_CHECK_MS));
}

function computeWait(failures: number, isDeferred: boolean, clock: Clock): number {
  const [byte = 0] = clock.random(1);
  return computeBackOff(selectBackOff(isDeferred), failures, byte / 256);
}

function selectBackOff(isDeferred: boolean): BackOff {
  return isDeferred ? DEFERRED_RETRY : RETRY;
}
