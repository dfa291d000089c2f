import type { Delivery } from "../core/delivery.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Platform } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { computeDueTime, pause, pauseUntil } from "../system/pause.ts";
import { attemptSend } from "./attempt-send.ts";
import {
  type AttemptResult,
  type DeliveryQueue,
  isDeferred,
  type QueuedDelivery,
} from "./delivery-queues.ts";
import { decideRetry } from "./retry.ts";
import { settleDelivery } from "./settle-delivery.ts";
import { buildUndeliveredNotice } from "./undelivered-notice.ts";

export interface SenderOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly runner: string;
  readonly clock: Clock;
  readonly log: Log;
  /** A send starts only while enough is left of the lease on the connection: another process may be sending otherwise. */
  canSend(): boolean;
  /** Aborts when no further attempt may start. */
  readonly closing: AbortSignal;
  /** Aborts a send in progress, which leaves unknown whether it arrived. */
  readonly cutting: AbortSignal;
}

/** How soon a failed store is tried again, and a connection that another process may hold by now. */
const RETRY_MS = 1000;

/** Returns the function that sends a queue until it is empty or `closing` aborts. A failing store only delays it. */
export function deliverySender(options: SenderOptions): (queue: DeliveryQueue) => Promise<void> {
  const { store, platform, runner, clock, log, closing, cutting } = options;
  let sentCount = 0;

  async function sendQueue(queue: DeliveryQueue): Promise<void> {
    while (!closing.aborted && queue.first() !== undefined) {
      try {
        await sendUntilEmpty(queue);
      } catch (error) {
        if (closing.aborted) return;
        log.error({ error, queue: queue.name }, "a delivery could not be stored; the outbox retries");
        await pause(RETRY_MS, closing);
      }
    }
  }

  async function sendUntilEmpty(queue: DeliveryQueue): Promise<void> {
    for (let first = queue.first(); first !== undefined; first = queue.first()) {
      const result = await attempt(queue, first);
      if (closing.aborted) return;
      queue.advance(result);
    }
  }

  async function attempt(queue: DeliveryQueue, queued: QueuedDelivery): Promise<AttemptResult> {
    const { delivery, due } = queued;
    const { status } = delivery;
    if (status.state === "sent" || status.state === "dead" || status.state === "draft") return {};
    if (status.state === "waiting") await pauseUntil(due, clock, closing);
    await keepPace(queue, delivery);
    if (closing.aborted || !options.canSend()) {
      await pause(RETRY_MS, closing);
      return { retry: queued };
    }
    const started =
      status.state === "sending"
        ? delivery
        : await store.outbox.beginDelivery({ delivery: delivery.number, runner, now: clock.now() });
    if (started === undefined) return {};
    queue.attempted = started.number;
    const { canSend } = options;
    const sent = await attemptSend({ store, platform, signal: cutting, canSend }, started);
    if (sent.state === "held_back") {
      delete queue.attempted;
      await pause(RETRY_MS, closing);
      return { retry: { ...queued, delivery: started } };
    }
    queue.lastSend = { turn: started.turn ?? queue.lastSend?.turn, at: clock.monotonic() };
    if (sent.state !== "sent") return handleFailure(queued, started, sent);
    sentCount += 1;
    await settleDelivery(options, started, { state: "sent", platformMessageId: sent.messageId });
    delete queue.attempted;
    return {};
  }

  async function handleFailure(
    queued: QueuedDelivery,
    started: Delivery,
    sent: Parameters<typeof decideRetry>[1],
  ): Promise<AttemptResult> {
    // When the connection breaks over this delivery while others get through, the delivery is the cause.
    const othersPass = queued.othersSent !== undefined && sentCount > queued.othersSent;
    const failure = sent.state === "unknown" && othersPass ? { ...sent, cause: "message" as const } : sent;
    const { outcome, waitMs } = decideRetry(started, failure, clock);
    const due = computeDueTime(clock, waitMs);
    const notice = await buildUndeliveredNotice(store, started, outcome);
    const settled = await settleDelivery(options, started, outcome, notice);
    if (settled === undefined) return {};
    const withNotice = settled.notice && { notice: settled.notice };
    if (outcome.state !== "waiting") return { ...withNotice };
    const next = { delivery: settled, due, othersSent: queued.othersSent ?? sentCount };
    if (!outcome.deferred || isDeferred(started)) return { retry: next };
    return { deferred: next, ...withNotice };
  }

  /** The pieces of one answer keep the distance that the platform requires; other deliveries need not wait. */
  async function keepPace(queue: DeliveryQueue, { turn, target }: Delivery): Promise<void> {
    if (turn === undefined || turn !== queue.lastSend?.turn) return;
    const intervalMs = platform.getDraftIntervalMs?.(target) ?? 0;
    await pause(queue.lastSend.at + intervalMs - clock.monotonic(), closing);
  }

  return sendQueue;
}
