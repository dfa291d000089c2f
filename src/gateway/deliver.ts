import type { Delivery, Enqueue, NewDelivery } from "../core/delivery.ts";
import type { Source } from "../core/source.ts";
import { buildTextDeliveries } from "../turns/text-deliveries.ts";
import { deliveryQueues, type QueueReservation } from "./delivery-queues.ts";
import { deliverySender, type SenderOptions } from "./delivery-sender.ts";

export type OutboxOptions = Omit<SenderOptions, "closing" | "cutting">;

/**
 * The deliveries to one platform. The deliveries to one target are sent one after the other, in the order of their
 * numbers; a deferred one is retried beside them.
 */
export interface Outbox {
  /** Stores a text, in as many messages as it takes, and sends it. */
  sendText(target: Source, text: string, options?: EnqueueOptions): Promise<void>;
  /** Stores these deliveries, all to one target, and sends them. */
  enqueue(target: Source, deliveries: readonly NewDelivery[], options?: EnqueueOptions): Promise<void>;
  /** For deliveries that the caller stores: nothing new is sent to the target until they are committed. */
  reserve(target: Source): QueueReservation;
  /** Whether nothing is queued or being sent to the target. */
  isIdle(target: Source): boolean;
  /** Queues stored deliveries. Those that are queued already are skipped. */
  schedule(deliveries: readonly Delivery[]): void;
  /**
   * Queues the pending deliveries of the store that are not queued: those of other processes, also under old numbers, such
   * as a crashed process's or a finished draft. While thousands are queued, not every call reads the store.
   */
  poll(): Promise<void>;
  /**
   * Starts nothing more, and resolves when nothing is being sent. Pending deliveries stay stored for the next holder of the
   * connection; so do those that are enqueued or reserved later.
   */
  close(): Promise<void>;
}

/** Stored in the same commit as the deliveries. */
export type EnqueueOptions = Omit<Enqueue, "deliveries" | "runner" | "now">;

const PAGE = 500;
/** A poll reads the numbers of all queued deliveries: from so many on, polls pause in proportion. */
const MANY_QUEUED = 1000;
const PAUSE_MS_PER_QUEUED = 0.05;
/** How long a send in progress may still take when the outbox closes. */
const LAST_SEND_MS = 10_000;

export function outbox(options: OutboxOptions): Outbox {
  const { store, platform, runner, clock } = options;
  const closing = new AbortController();
  /** A send in progress is not cut off at once: nobody would know whether it arrived. */
  const cutting = new AbortController();
  const send = deliverySender({ ...options, closing: closing.signal, cutting: cutting.signal });
  const queues = deliveryQueues({ clock, signal: closing.signal, send, giveBack });
  /** By the monotonic clock. */
  let nextPollAt = 0;

  async function enqueue(
    target: Source,
    deliveries: readonly NewDelivery[],
    more: EnqueueOptions = {},
  ): Promise<void> {
    const reservation = queues.reserve(target);
    let stored: readonly Delivery[] = [];
    try {
      const request = { ...more, deliveries: reservation.startFirst(deliveries), runner, now: clock.now() };
      stored = (await store.outbox.enqueue(request)).deliveries;
    } finally {
      reservation.commit(stored);
    }
  }

  /** If the store fails, the next holder of the connection treats it as an interrupted attempt. */
  async function giveBack({ number }: Delivery): Promise<void> {
    // Without the lease, another process may be sending it.
    if (!options.canSend()) return;
    const now = clock.now();
    const outcome = { state: "waiting", nextAt: now, error: "Not sent yet." } as const;
    await store.outbox.settle({ delivery: number, outcome, now }).catch((error: unknown) => {
      options.log.warn({ error, delivery: number }, "a delivery could not be given back");
    });
  }

  async function poll(): Promise<void> {
    if (clock.monotonic() < nextPollAt) return;
    const pending = { dueAt: Number.MAX_SAFE_INTEGER, limit: PAGE, platform: platform.name };
    const known = queues.listNumbers();
    const found: Delivery[] = [];
    for (let isMore = true; isMore && !closing.signal.aborted; ) {
      // A delivery with a lower number than the known ones may have been committed after them.
      const page = await store.outbox.listPendingDeliveries({ ...pending, except: known });
      found.push(...page);
      known.push(...page.map(({ number }) => number));
      isMore = page.length === PAGE;
      if (isMore) await new Promise(setImmediate); // the event loop runs between the pages
    }
    const queued = known.length;
    nextPollAt = queued < MANY_QUEUED ? 0 : clock.monotonic() + queued * PAUSE_MS_PER_QUEUED;
    // All pages at once: a notice has the position of an older delivery, which may be pages before it.
    queues.schedule(found);
  }

  return {
    sendText: (target, text, more) =>
      enqueue(target, buildTextDeliveries(target, text, { traits: platform.traits }), more),
    enqueue,
    reserve: queues.reserve,
    isIdle: queues.isIdle,
    schedule: queues.schedule,
    poll,
    async close() {
      closing.abort();
      const timer = setTimeout(() => cutting.abort(), LAST_SEND_MS);
      await queues.drain(cutting.signal);
      clearTimeout(timer);
    },
  };
}
