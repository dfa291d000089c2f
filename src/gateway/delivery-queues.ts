import type { Delivery, NewDelivery } from "../core/delivery.ts";
import type { Source } from "../core/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { DueTime } from "../system/pause.ts";
import { getDeliveryDueTime } from "./retry.ts";

/** A delivery that waits for its next attempt. */
export interface QueuedDelivery {
  readonly delivery: Delivery;
  readonly due: DueTime;
  /** How many other deliveries this process had sent when this one first failed. */
  readonly othersSent?: number;
}

/** What follows from one attempt; nothing if the delivery is settled, or belongs to another process. */
export interface AttemptResult {
  /** The delivery stays first in its queue. */
  readonly retry?: QueuedDelivery;
  /** The delivery moves to a queue of its own. */
  readonly deferred?: QueuedDelivery;
  /** Takes the position of the delivery that has left the queue. */
  readonly notice?: Delivery;
}

/** The deliveries to one target in the order of their numbers, or one deferred delivery. */
export interface DeliveryQueue {
  readonly name: string;
  /** Set by the sender, for the distance between the pieces of one answer. `at` is by the monotonic clock. */
  lastSend?: { readonly turn: number | undefined; readonly at: number };
  /** The number of the delivery that is being sent, or may have been sent: its outcome is not stored. */
  attempted?: number;
  /** The next delivery to send. */
  first(): QueuedDelivery | undefined;
  /** Updates the queue after an attempt to send the first delivery. */
  advance(result: AttemptResult): void;
}

/** Keeps a target's queue closed while its deliveries are stored: a poll may find the second one before the first. */
export interface QueueReservation {
  /** Counts the first attempt of the first delivery in the commit that stores it, if nothing is queued before it. */
  startFirst(deliveries: readonly NewDelivery[]): readonly NewDelivery[];
  /** The deliveries are stored: queues them. Called once, also with none. */
  commit(deliveries: readonly Delivery[]): void;
}

export interface DeliveryQueues {
  /** Adds each delivery to its queue, unless it is queued already. */
  schedule(deliveries: readonly Delivery[]): void;
  reserve(target: Source): QueueReservation;
  isIdle(target: Source): boolean;
  /** The numbers of all queued deliveries, also of those that are being sent. */
  listNumbers(): number[];
  /**
   * Resolves when no queue is being sent, and all deliveries that were not attempted are given back. It waits for open
   * reservations until the signal aborts.
   */
  drain(signal: AbortSignal): Promise<void>;
}

interface OpenQueue extends DeliveryQueue {
  readonly items: QueuedDelivery[];
  reservations: number;
  isSending: boolean;
}

/** One queue per target. Each calls `send` while it has deliveries, until the signal aborts. */
export function deliveryQueues(options: {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Sends until the queue is empty or the signal aborts. Never rejects. */
  send(queue: DeliveryQueue): Promise<void>;
  /** Stores that the first attempt, which was counted with the commit, has not been made. Never rejects. */
  giveBack(delivery: Delivery): Promise<void>;
}): DeliveryQueues {
  const { clock, signal } = options;
  const queues = new Map<string, OpenQueue>();
  const queued = new Set<number>();
  const sending = new Set<Promise<void>>();
  const reserved = new Set<Promise<void>>();

  function openQueue(name: string): OpenQueue {
    const open = queues.get(name);
    if (open !== undefined) return open;
    const queue: OpenQueue = {
      name,
      items: [],
      reservations: 0,
      isSending: false,
      first: () => queue.items[0],
      advance: (result) => advance(queue, result),
    };
    queues.set(name, queue);
    return queue;
  }

  function advance(queue: OpenQueue, { retry, notice, deferred }: AttemptResult): void {
    if (retry !== undefined) {
      queue.items[0] = retry;
      return;
    }
    const done = queue.items.shift();
    if (done !== undefined) queued.delete(done.delivery.number);
    if (notice !== undefined) insert(queue, notice, 0);
    if (deferred !== undefined) defer(deferred);
  }

  /** Inserts by position, but not before the first `from`: a delivery that is being sent stays first. */
  function insert(queue: OpenQueue, delivery: Delivery, from: number): void {
    if (!markQueued(delivery)) return;
    const { items } = queue;
    // From the end, where most belong: after an outage, a queue may have thousands.
    const before = items.findLastIndex(
      (item, index) => index < from || getPosition(item.delivery) <= getPosition(delivery),
    );
    items.splice(before + 1, 0, { delivery, due: getDeliveryDueTime(delivery, clock) });
  }

  function defer(item: QueuedDelivery): void {
    if (!markQueued(item.delivery)) return;
    const queue = openQueue(getQueueName(item.delivery));
    queue.items.push(item);
    start(queue);
  }

  function markQueued({ number }: Delivery): boolean {
    if (queued.has(number) || signal.aborted) return false;
    queued.add(number);
    return true;
  }

  /** A delivery of another process may be older than those that were queued since. */
  function add(queue: OpenQueue, delivery: Delivery): void {
    insert(queue, delivery, queue.isSending ? 1 : 0);
  }

  function start(queue: OpenQueue): void {
    if (queue.isSending || queue.reservations > 0) return;
    if (queue.items.length === 0 || signal.aborted) {
      queues.delete(queue.name);
      for (const { delivery } of queue.items) giveBack(queue, delivery);
      return;
    }
    queue.isSending = true;
    const done = options.send(queue).finally(() => {
      sending.delete(done);
      queue.isSending = false;
      start(queue);
    });
    sending.add(done);
  }

  function giveBack(queue: OpenQueue, delivery: Delivery): void {
    if (delivery.status.state !== "sending" || delivery.number === queue.attempted) return;
    const done = options.giveBack(delivery).finally(() => sending.delete(done));
    sending.add(done);
  }

  return {
    schedule(deliveries) {
      const changed = new Set<OpenQueue>();
      for (const delivery of deliveries) {
        const queue = openQueue(getQueueName(delivery));
        add(queue, delivery);
        changed.add(queue);
      }
      for (const queue of changed) start(queue);
    },
    reserve(target) {
      const queue = openQueue(getTargetQueueName(target));
      const isFree = queue.items.length === 0 && queue.reservations === 0;
      queue.reservations += 1;
      let isOpen = true;
      const { promise, resolve } = Promise.withResolvers<void>();
      reserved.add(promise);
      return {
        startFirst: (deliveries) =>
          deliveries.map((delivery, index) =>
            index === 0 && isFree && !signal.aborted ? { ...delivery, sendNow: true } : delivery,
          ),
        commit(deliveries) {
          if (!isOpen) return;
          isOpen = false;
          reserved.delete(promise);
          resolve();
          queue.reservations -= 1;
          if (signal.aborted) for (const delivery of deliveries) giveBack(queue, delivery);
          for (const delivery of deliveries) add(queue, delivery);
          start(queue);
        },
      };
    },
    isIdle: (target) => !queues.has(getTargetQueueName(target)),
    listNumbers: () => [...queued],
    async drain(limit) {
      const isOver = new Promise<void>((resolve) => limit.addEventListener("abort", () => resolve()));
      await Promise.race([Promise.all(reserved), isOver]);
      while (sending.size > 0) await Promise.all(sending);
    },
  };
}

export function isDeferred({ status }: Delivery): boolean {
  return "deferredAt" in status && status.deferredAt !== undefined;
}

/** A notice has the position of the delivery that it is about. */
function getPosition({ number, noticeFor }: Delivery): number {
  return noticeFor ?? number;
}

function getQueueName(delivery: Delivery): string {
  return isDeferred(delivery) ? `deferred\n${delivery.number}` : getTargetQueueName(delivery.target);
}

function getTargetQueueName({ chatId, threadId = "" }: Source): string {
  return `to\n${chatId}\n${threadId}`;
}
