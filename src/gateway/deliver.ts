import type { Delivery, Enqueue, NewDelivery, Settle, SettledDelivery } from "../core/delivery.ts";
import { isRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Platform } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { computeDueTime, type DueTime, pause, pauseUntil } from "../system/pause.ts";
import { buildTextDeliveries } from "../turns/text-deliveries.ts";
import { attemptSend } from "./attempt-send.ts";
import { decideRetry, getDeliveryDueTime } from "./retry.ts";
import { buildUndeliveredNotice } from "./undelivered-notice.ts";

export interface OutboxOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly runner: string;
  readonly clock: Clock;
  readonly log: Log;
  /** A send starts only while enough is left of the lease on the connection: else another may be sending. */
  canSend(): boolean;
}

/**
 * The deliveries on their way to one platform. Within a target they are sent one after the other, in the order of their
 * numbers; one that has stepped aside is retried beside them.
 */
export interface Outbox {
  /** Stores a text, in as many messages as it takes, and sends it. */
  sendText(target: Source, words: string, more?: EnqueueOptions): Promise<void>;
  /** Stores these, all to one target, and sends them. */
  enqueue(target: Source, deliveries: readonly NewDelivery[], more?: EnqueueOptions): Promise<void>;
  /** For what is stored elsewhere: nothing new goes to the target until it has been taken or given up. */
  reserve(target: Source): LaneReservation;
  /** Whether nothing is on its way to the target. */
  isIdle(target: Source): boolean;
  /** Sends these when their target's turn has come. What is here already is not taken twice. */
  schedule(deliveries: readonly Delivery[]): void;
  /**
   * Takes what waits in the store and was not seen by an earlier look: what others have stored. From `back` on, also what
   * has come to wait since under an old number: what others have left behind, or a draft that another process has ended.
   */
  poll(back?: number): Promise<void>;
  /** Begins nothing more, and resolves when nothing is being sent. What waits is kept for the next start. */
  close(): Promise<void>;
}

/** What is stored in the same commit. */
export type EnqueueOptions = Omit<Enqueue, "deliveries" | "runner" | "now">;

/**
 * Without it, a look at what waits would find the second message of an answer before the first, whose attempt is counted
 * with the commit that stores it, has been taken.
 */
export interface LaneReservation {
  /** The deliveries with the first attempt of the first counted, if nothing is before it. */
  startFirst(deliveries: readonly NewDelivery[]): readonly NewDelivery[];
  /** They are stored: sends them. Called once, also with none. */
  commit(deliveries: readonly Delivery[]): void;
}

/** How soon the store is asked again after it failed, and a connection that may be another's by now. */
const RETRY_MS = 1000;
const PAGE = 500;
/** How long what is being sent when the program ends may still take. */
const LAST_SEND_MS = 10_000;

interface QueuedDelivery {
  readonly delivery: Delivery;
  readonly due: DueTime;
  /** How many others this process had sent when this one first failed. */
  readonly othersSent?: number;
}

interface Lane {
  readonly queue: QueuedDelivery[];
  /** How many are storing something for it. */
  reservations: number;
  isWorking: boolean;
  lastTurn?: number;
  /** When something was last sent, by the monotonic clock. */
  lastAt: number;
}

export function outbox(options: OutboxOptions): Outbox {
  const { store, platform, runner, clock, log } = options;
  const lanes = new Map<string, Lane>();
  const known = new Set<number>();
  const working = new Set<Promise<void>>();
  const closing = new AbortController();
  /** What is being sent is not cut off at once: nobody would know whether it arrived. */
  const cutting = new AbortController();
  /** Numbers rise in the order of the commits: whatever is made later has a higher one than was ever seen. */
  let seen = 0;
  let sentCount = 0;

  /** Sends what is first in the lane, until nothing is left. */
  async function work(lane: Lane): Promise<void> {
    for (let first = lane.queue[0]; first !== undefined; first = lane.queue[0]) {
      const after = await forward(lane, first);
      if (closing.signal.aborted) return;
      if (after.retry !== undefined) {
        lane.queue[0] = after.retry;
        continue;
      }
      lane.queue.shift();
      known.delete(first.delivery.number);
      if (after.notice !== undefined) insert(lane, after.notice, 0);
      if (after.deferred !== undefined) queueAside(after.deferred);
    }
  }

  /** One attempt, and what follows from it; nothing does if the delivery is settled or somebody else's. */
  async function forward(lane: Lane, queued: QueuedDelivery): Promise<AttemptResult> {
    const { delivery, due } = queued;
    const { status } = delivery;
    if (status.state === "sent" || status.state === "dead" || status.state === "draft") return {};
    if (status.state === "waiting") await pauseUntil(due, clock, closing.signal);
    await keepPace(lane, delivery);
    if (closing.signal.aborted || !options.canSend()) {
      await pause(RETRY_MS, closing.signal);
      return { retry: queued };
    }
    const begun =
      status.state === "sending"
        ? delivery
        : await store.outbox.beginDelivery({ delivery: delivery.number, runner, now: clock.now() });
    if (begun === undefined) return {};
    const sent = await attemptSend({ store, platform, signal: cutting.signal }, begun);
    lane.lastAt = clock.monotonic();
    if (begun.turn !== undefined) lane.lastTurn = begun.turn;
    if (sent.state === "sent") {
      sentCount += 1;
      const settled = await settle(begun, { state: "sent", platformMessageId: sent.messageId });
      if (settled !== undefined) tell(settled, { state: "sent" });
      return {};
    }
    // A connection that breaks over this one while others are taken is this one's matter.
    const othersGo = queued.othersSent !== undefined && sentCount > queued.othersSent;
    const failure = sent.state === "unknown" && othersGo ? { ...sent, cause: "message" as const } : sent;
    const { outcome, waitMs } = decideRetry(begun, failure, clock);
    const retry = computeDueTime(clock, waitMs);
    const notice = await buildUndeliveredNotice(store, begun, outcome);
    const settled = await settle(begun, outcome, notice);
    if (settled === undefined) return {};
    tell(settled, outcome);
    const next = { delivery: settled, due: retry, othersSent: queued.othersSent ?? sentCount };
    if (outcome.state !== "waiting") return { ...(settled.notice && { notice: settled.notice }) };
    if (!outcome.deferred || isDeferred(begun)) return { retry: next };
    return { deferred: next, ...(settled.notice && { notice: settled.notice }) };
  }

  /** What was sent must not be sent again because it could not be noted: only the noting is. */
  async function settle(
    { number }: Delivery,
    outcome: Settle["outcome"],
    notice?: NewDelivery,
  ): Promise<SettledDelivery | undefined> {
    const settles = { delivery: number, outcome, ...(notice !== undefined && { notice }) };
    for (;;) {
      try {
        const settled = await store.outbox.settle({ ...settles, now: clock.now() });
        // Its session or its person has been removed meanwhile: there is nothing to note any more.
        return isRefused(settled) ? undefined : settled;
      } catch (error) {
        log.error({ error, delivery: number }, "what became of a delivery could not be stored yet");
        if (closing.signal.aborted) return undefined;
        await pause(RETRY_MS, closing.signal);
      }
    }
  }

  /** The pieces of one answer keep the distance that the platform asks for; anything else need not wait. */
  async function keepPace(lane: Lane, { turn, target }: Delivery): Promise<void> {
    if (turn === undefined || turn !== lane.lastTurn) return;
    const every = platform.getDraftIntervalMs?.(target) ?? 0;
    await pause(lane.lastAt + every - clock.monotonic(), closing.signal);
  }

  function tell({ number, turn, target }: Delivery, outcome: Settle["outcome"]): void {
    const fields = { delivery: number, turn, platform: target.platform, chat: target.chatId };
    if (outcome.state === "sent") log.debug(fields, "delivered");
    else if (outcome.state === "dead")
      log.error({ ...fields, error: outcome.error }, "could not be delivered");
    else if (outcome.deferred) log.warn({ ...fields, error: outcome.error }, "not delivered; retried aside");
    else log.warn({ ...fields, error: outcome.error }, "not delivered yet");
  }

  function say(target: Source, words: string, more: EnqueueOptions = {}): Promise<void> {
    return put(target, buildTextDeliveries(target, words, { traits: platform.traits }), more);
  }

  async function put(
    target: Source,
    deliveries: readonly NewDelivery[],
    more: EnqueueOptions = {},
  ): Promise<void> {
    const held = hold(target);
    let stored: readonly Delivery[] = [];
    try {
      const made = { ...more, deliveries: held.startFirst(deliveries), runner, now: clock.now() };
      stored = (await store.outbox.enqueue(made)).deliveries;
    } finally {
      held.commit(stored);
    }
  }

  function hold(target: Source): LaneReservation {
    const name = getTargetLaneName(target);
    const lane = laneNamed(name);
    const isFree = lane.queue.length === 0 && lane.reservations === 0;
    lane.reservations += 1;
    let isHeld = true;
    return {
      startFirst: (deliveries) =>
        deliveries.map((delivery, index) =>
          index === 0 && isFree ? { ...delivery, sendNow: true } : delivery,
        ),
      commit(deliveries) {
        if (!isHeld) return;
        isHeld = false;
        lane.reservations -= 1;
        for (const delivery of deliveries) enter(lane, delivery);
        start(name, lane);
      },
    };
  }

  function laneNamed(name: string): Lane {
    const lane = lanes.get(name) ?? { queue: [], reservations: 0, isWorking: false, lastAt: 0 };
    lanes.set(name, lane);
    return lane;
  }

  function enter(lane: Lane, delivery: Delivery): void {
    // What is being sent stays first; what another process has stored may be older than what was taken since.
    insert(lane, delivery, lane.isWorking ? 1 : 0);
  }

  /** Puts it into its place in the order, behind the first few. */
  function insert(lane: Lane, delivery: Delivery, from: number): void {
    if (known.has(delivery.number) || closing.signal.aborted) return;
    known.add(delivery.number);
    const at = lane.queue.findIndex(
      (one, index) => index >= from && getPosition(one.delivery) > getPosition(delivery),
    );
    const queued = { delivery, due: getDeliveryDueTime(delivery, clock) };
    lane.queue.splice(at === -1 ? lane.queue.length : at, 0, queued);
  }

  /** It has a lane of its own from now on. */
  function queueAside(queued: QueuedDelivery): void {
    const { delivery } = queued;
    if (known.has(delivery.number) || closing.signal.aborted) return;
    known.add(delivery.number);
    const name = getLaneName(delivery);
    const lane = laneNamed(name);
    lane.queue.push(queued);
    start(name, lane);
  }

  function take(deliveries: readonly Delivery[]): void {
    const named = new Set<string>();
    for (const delivery of deliveries) {
      const name = getLaneName(delivery);
      enter(laneNamed(name), delivery);
      named.add(name);
    }
    for (const name of named) start(name, laneNamed(name));
  }

  async function look(back = seen): Promise<void> {
    const all = { dueAt: Number.MAX_SAFE_INTEGER, limit: PAGE, platform: platform.name };
    const found: Delivery[] = [];
    let after = Math.min(back, seen);
    for (let isMore = true; isMore && !closing.signal.aborted; ) {
      const page = await store.outbox.listPendingDeliveries({ ...all, after });
      found.push(...page);
      after = page.at(-1)?.number ?? after;
      isMore = page.length === PAGE;
    }
    // All at once: a notice has the place of an older delivery, which may be pages before it.
    seen = Math.max(seen, after);
    take(found);
  }

  function start(name: string, lane: Lane): void {
    if (lane.isWorking || lane.reservations > 0) return;
    if (lane.queue.length === 0 || closing.signal.aborted) {
      lanes.delete(name);
      return;
    }
    lane.isWorking = true;
    const done = keepWorking(name, lane).finally(() => {
      working.delete(done);
      lane.isWorking = false;
      start(name, lane);
    });
    working.add(done);
  }

  /** A store that fails for a while holds up the lane and loses nothing. */
  async function keepWorking(name: string, lane: Lane): Promise<void> {
    while (!closing.signal.aborted && lane.queue.length > 0) {
      try {
        await work(lane);
      } catch (error) {
        if (closing.signal.aborted) return;
        log.error({ error, lane: name }, "a delivery could not be stored; trying again");
        await pause(RETRY_MS, closing.signal);
      }
    }
  }

  return {
    sendText: say,
    enqueue: put,
    reserve: hold,
    isIdle: (target) => !lanes.has(getTargetLaneName(target)),
    schedule: take,
    poll: look,
    async close() {
      closing.abort();
      const timer = setTimeout(() => cutting.abort(), LAST_SEND_MS);
      await Promise.all(working);
      clearTimeout(timer);
    },
  };
}

/** What follows from one attempt. */
interface AttemptResult {
  /** It stays first in its lane. */
  readonly retry?: QueuedDelivery;
  /** It leaves its lane for one of its own. */
  readonly deferred?: QueuedDelivery;
  /** It takes the place of what has left the lane. */
  readonly notice?: Delivery;
}

function isDeferred({ status }: Delivery): boolean {
  return "deferredAt" in status && status.deferredAt !== undefined;
}

function getPosition({ number, noticeFor }: Delivery): number {
  return noticeFor ?? number;
}

function getLaneName(delivery: Delivery): string {
  return isDeferred(delivery) ? `aside\n${delivery.number}` : getTargetLaneName(delivery.target);
}

function getTargetLaneName({ chatId, threadId = "" }: Source): string {
  return `to\n${chatId}\n${threadId}`;
}
