import type { Delivery, NewDelivery, Settle, SettledDelivery } from "../core/delivery.ts";
import { isRefused } from "../core/refusal.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { pause } from "../system/pause.ts";

const RETRY_MS = 1000;

/**
 * Stores and logs the outcome of an attempt. Retries only the storing, because a message that was sent must not be sent
 * again. `undefined` when the delivery was removed with its session or person, or `closing` aborts first.
 */
export async function settleDelivery(
  options: {
    readonly store: Store;
    readonly clock: Clock;
    readonly log: Log;
    readonly closing: AbortSignal;
  },
  { number }: Delivery,
  outcome: Settle["outcome"],
  notice?: NewDelivery,
): Promise<SettledDelivery | undefined> {
  const { store, clock, log, closing } = options;
  const request = { delivery: number, outcome, ...(notice !== undefined && { notice }) };
  for (;;) {
    try {
      const settled = await store.outbox.settle({ ...request, now: clock.now() });
      if (isRefused(settled)) return undefined;
      logOutcome(log, settled, outcome);
      return settled;
    } catch (error) {
      log.error(
        { error, delivery: number },
        "the outcome of a delivery could not be stored; the outbox retries",
      );
      if (closing.aborted) return undefined;
      await pause(RETRY_MS, closing);
    }
  }
}

function logOutcome(log: Log, { number, turn, target }: Delivery, outcome: Settle["outcome"]): void {
  const fields = { delivery: number, turn, platform: target.platform, chat: target.chatId };
  if (outcome.state === "sent") log.debug(fields, "delivered");
  else if (outcome.state === "dead") log.error({ ...fields, error: outcome.error }, "not delivered; dropped");
  else if (outcome.deferred) log.warn({ ...fields, error: outcome.error }, "not delivered; deferred");
  else log.warn({ ...fields, error: outcome.error }, "not delivered; will be retried");
}
