import type { Delivery, Enqueue, NewDelivery, Settle, Shown } from "../core/delivery.ts";
import { type Part, text } from "../core/message.ts";
import { isRefused } from "../core/refusal.ts";
import { markedAsRepeated, REPEATED_MARK } from "../core/repetition.ts";
import type { Source } from "../core/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Outbound, Platform, Sent } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { textDeliveries } from "./outgoing.ts";
import { pause } from "./pause.ts";

export interface DeliverOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly runner: string;
  readonly clock: Clock;
  readonly log: Log;
  /** A send starts only while enough is left of the lease on the connection: else another may be sending. */
  mayStart(): boolean;
}

/** What is on its way to one platform. Within a target, one after the other, in the order of their numbers. */
export interface Outbox {
  /** Stores a text, in as many messages as it takes, and sends it. */
  say(target: Source, words: string, more?: Besides): Promise<void>;
  /** Stores these, all to one target, and sends them. */
  put(target: Source, deliveries: readonly NewDelivery[], more?: Besides): Promise<void>;
  /** For what is stored elsewhere: nothing new goes to the target until it has been taken or given up. */
  hold(target: Source): Hold;
  /** Whether nothing is on its way to the target. */
  isFree(target: Source): boolean;
  /** Sends these when their target's turn has come. What is here already is not taken twice. */
  take(deliveries: readonly Delivery[]): void;
  /**
   * Takes what waits in the store and was not seen by an earlier look: what others have stored. From `back` on, also what
   * has come to wait since under an old number: what others have left behind, or a draft that another process has ended.
   */
  look(back?: number): Promise<void>;
  /** Begins nothing more, and resolves when nothing is being sent. What waits is kept for the next start. */
  close(): Promise<void>;
}

/** What is stored in the same commit. */
export type Besides = Omit<Enqueue, "deliveries" | "runner" | "now">;

/**
 * Without it, a look at what waits would find the second message of an answer before the first, whose attempt is counted
 * with the commit that stores it, has been taken.
 */
export interface Hold {
  /** The deliveries with the first attempt of the first counted, if nothing is before it. */
  begin(deliveries: readonly NewDelivery[]): readonly NewDelivery[];
  /** They are stored: sends them. Called once, also with none. */
  take(deliveries: readonly Delivery[]): void;
}

/** Doubling from here, */
const FIRST_RETRY_MS = 1000;
/** up to here, */
const LONGEST_RETRY_MS = 10 * 60_000;
/** and so often: more than a day in all. */
const MOST_ATTEMPTS = 160;
const PAGE = 500;
/** How long what is being sent when the program ends may still take. */
const LAST_SEND_MS = 10_000;

interface Lane {
  readonly queue: Delivery[];
  /** How many are storing something for it. */
  held: number;
  isWorking: boolean;
  lastTurn?: number;
  lastAt: number;
}

export function outbox(options: DeliverOptions): Outbox {
  const { store, platform, runner, clock, log } = options;
  const lanes = new Map<string, Lane>();
  const known = new Set<number>();
  const working = new Set<Promise<void>>();
  const closing = new AbortController();
  /** What is being sent is not cut off at once: nobody would know whether it arrived. */
  const cutting = new AbortController();
  /** Numbers rise in the order of the commits: whatever is made later has a higher one than was ever seen. */
  let seen = 0;

  /** What is first in the lane, until nothing is left. */
  async function work(lane: Lane): Promise<void> {
    for (let first = lane.queue[0]; first !== undefined; first = lane.queue[0]) {
      const left = await forward(lane, first);
      if (closing.signal.aborted) return;
      if (left === undefined) {
        lane.queue.shift();
        known.delete(first.number);
      } else lane.queue[0] = left;
    }
  }

  /** One attempt. Gives back the delivery if it is to be tried again. */
  async function forward(lane: Lane, delivery: Delivery): Promise<Delivery | undefined> {
    const { status } = delivery;
    if (status.state === "sent" || status.state === "dead" || status.state === "draft") return undefined;
    if (status.state === "waiting") await pause(status.nextAt - clock.now(), closing.signal);
    await keepPace(lane, delivery);
    if (closing.signal.aborted || !options.mayStart()) {
      await pause(FIRST_RETRY_MS, closing.signal);
      return delivery;
    }
    const begun =
      status.state === "sending"
        ? delivery
        : await store.beginDelivery({ delivery: delivery.number, runner, now: clock.now() });
    if (begun === undefined) return undefined; // somebody else has it, or it is gone
    const outcome = await attempt(begun);
    lane.lastAt = clock.now();
    if (begun.turn !== undefined) lane.lastTurn = begun.turn;
    const settled = await settle(begun, outcome);
    if (settled === undefined) return undefined;
    tell(settled, outcome);
    if (outcome.state === "dead") await tellPerson(settled, outcome.error);
    return outcome.state === "waiting" ? settled : undefined;
  }

  /** What was sent must not be sent again because it could not be noted: only the noting is. */
  async function settle({ number }: Delivery, outcome: Settle["outcome"]): Promise<Delivery | undefined> {
    for (;;) {
      try {
        const settled = await store.settle({ delivery: number, outcome, now: clock.now() });
        // Its session or its person has been removed meanwhile: there is nothing to note any more.
        return isRefused(settled) ? undefined : settled;
      } catch (error) {
        log.error({ error, delivery: number }, "what became of a delivery could not be stored yet");
        if (closing.signal.aborted) return undefined;
        await pause(FIRST_RETRY_MS, closing.signal);
      }
    }
  }

  /** The pieces of one answer keep the distance that the platform asks for; anything else need not wait. */
  async function keepPace(lane: Lane, { turn, target }: Delivery): Promise<void> {
    if (turn === undefined || turn !== lane.lastTurn) return;
    await pause(lane.lastAt + (platform.draftEveryMs?.(target) ?? 0) - clock.now(), closing.signal);
  }

  async function attempt(delivery: Delivery): Promise<Settle["outcome"]> {
    const { status } = delivery;
    const attempts = "attempts" in status ? status.attempts : 1;
    const shown = "shown" in status ? status.shown : "nothing";
    const sent = await send(delivery, shown).catch(brokenPromise);
    if (sent.state === "sent") return { state: "sent", platformMessageId: sent.messageId };
    if (sent.state === "refused") return { state: "dead", error: sent.reason };
    if (attempts >= MOST_ATTEMPTS) return { state: "dead", error: sent.reason };
    const wait = ("retryAfterMs" in sent ? sent.retryAfterMs : undefined) ?? backOff(attempts, clock);
    return {
      state: "waiting",
      nextAt: clock.now() + wait,
      error: sent.reason,
      ...(sent.state === "unknown" && typeof shown === "string" && { shown: "unknown" }),
    };
  }

  async function send(delivery: Delivery, shown: Shown): Promise<Sent> {
    const { signal } = cutting;
    const out = outbound(delivery);
    if (typeof shown === "object") return replace(out, shown.messageId);
    if (shown === "nothing") return platform.send(out, signal);
    const { outbound: trait } = platform.traits;
    if (trait === "unknowable") return platform.send({ ...out, parts: marked(out.parts) }, signal);
    let found: string | undefined;
    try {
      found = trait === "can_be_looked_up" ? await platform.lookUp?.(out, signal) : undefined;
    } catch (error) {
      // Nobody knows yet: it is looked up again with the next attempt, before anything is sent.
      return { state: "not_sent", reason: `It could not be looked up: ${(error as Error).message}` };
    }
    const sent =
      found === undefined ? await platform.send(out, signal) : ({ state: "sent", messageId: found } as const);
    // What was there may be a draft.
    return sent.state === "sent" ? replace(out, sent.messageId) : sent;
  }

  async function replace(out: Outbound, messageId: string): Promise<Sent> {
    const edited = (await platform.edit?.(out, messageId, cutting.signal)) ?? { state: "sent", messageId };
    return edited.state === "gone" ? platform.send(out, cutting.signal) : edited;
  }

  function outbound({ target, parts, nonce, replyTo, buttons, quiet }: Delivery): Outbound {
    return {
      target,
      parts,
      nonce,
      blob: (hash) => store.blob({ asker: { everyone: true }, hash }),
      ...(replyTo !== undefined && { replyTo }),
      ...(buttons !== undefined && { buttons }),
      ...(quiet && { quiet }),
    };
  }

  function tell({ number, turn, target }: Delivery, outcome: Settle["outcome"]): void {
    const fields = { delivery: number, turn, platform: target.platform, chat: target.chatId };
    if (outcome.state === "sent") log.debug(fields, "delivered");
    else if (outcome.state === "waiting") log.warn({ ...fields, error: outcome.error }, "not delivered yet");
    else log.error({ ...fields, error: outcome.error }, "could not be delivered");
  }

  /** Where the answer could not go, a short word perhaps can. It belongs to no session, so it is not told of in turn. */
  async function tellPerson({ session, target }: Delivery, error: string): Promise<void> {
    if (session === undefined) return;
    await say(
      target,
      `An answer could not be delivered here: ${error} Nothing is lost: /history shows it.`,
    ).catch((failure: unknown) => log.error({ error: failure }, "a notice could not be stored"));
  }

  function say(target: Source, words: string, more: Besides = {}): Promise<void> {
    return put(target, textDeliveries(target, words, { traits: platform.traits }), more);
  }

  async function put(target: Source, deliveries: readonly NewDelivery[], more: Besides = {}): Promise<void> {
    const held = hold(target);
    let stored: readonly Delivery[] = [];
    try {
      const made = { ...more, deliveries: held.begin(deliveries), runner, now: clock.now() };
      stored = (await store.enqueue(made)).deliveries;
    } finally {
      held.take(stored);
    }
  }

  function hold(target: Source): Hold {
    const name = laneOf(target);
    const lane = laneNamed(name);
    const isFree = lane.queue.length === 0 && lane.held === 0;
    lane.held += 1;
    let isHeld = true;
    return {
      begin: (deliveries) =>
        deliveries.map((delivery, index) =>
          index === 0 && isFree ? { ...delivery, begun: true } : delivery,
        ),
      take(deliveries) {
        if (!isHeld) return;
        isHeld = false;
        lane.held -= 1;
        for (const delivery of deliveries) enter(lane, delivery);
        start(name, lane);
      },
    };
  }

  function laneNamed(name: string): Lane {
    const lane = lanes.get(name) ?? { queue: [], held: 0, isWorking: false, lastAt: 0 };
    lanes.set(name, lane);
    return lane;
  }

  function enter(lane: Lane, delivery: Delivery): void {
    if (known.has(delivery.number) || closing.signal.aborted) return;
    known.add(delivery.number);
    // What is being sent stays first; what another process has stored may be older than what was taken since.
    const from = lane.isWorking ? 1 : 0;
    const at = lane.queue.findIndex(({ number }, place) => place >= from && number > delivery.number);
    lane.queue.splice(at === -1 ? lane.queue.length : at, 0, delivery);
  }

  function take(deliveries: readonly Delivery[]): void {
    const named = new Set<string>();
    for (const delivery of deliveries) {
      const name = laneOf(delivery.target);
      enter(laneNamed(name), delivery);
      named.add(name);
    }
    for (const name of named) start(name, laneNamed(name));
  }

  async function look(back = seen): Promise<void> {
    const all = { dueAt: Number.MAX_SAFE_INTEGER, limit: PAGE, platform: platform.name };
    let after = Math.min(back, seen);
    while (!closing.signal.aborted) {
      const found = await store.deliveries({ ...all, after });
      take(found);
      after = found.at(-1)?.number ?? after;
      seen = Math.max(seen, after);
      if (found.length < PAGE) return;
    }
  }

  function start(name: string, lane: Lane): void {
    if (lane.isWorking || lane.held > 0) return;
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
        await pause(FIRST_RETRY_MS, closing.signal);
      }
    }
  }

  return {
    say,
    put,
    hold,
    isFree: (target) => !lanes.has(laneOf(target)),
    take,
    look,
    async close() {
      closing.abort();
      const timer = setTimeout(() => cutting.abort(), LAST_SEND_MS);
      await Promise.all(working);
      clearTimeout(timer);
    },
  };
}

/** A platform that throws does not say what it has done before: it is not asked again and again as if it had done nothing. */
function brokenPromise(error: unknown): Sent {
  return { state: "unknown", reason: `It could not be sent: ${(error as Error).message}` };
}

function laneOf({ chatId, threadId = "" }: Source): string {
  return `${chatId}\n${threadId}`;
}

/** The person may have seen it: they are told so, instead of wondering. */
function marked(parts: readonly Part[]): readonly Part[] {
  const at = parts.findIndex((part) => part.type === "text");
  const first = parts[at];
  if (first?.type !== "text") return [text(REPEATED_MARK), ...parts];
  return parts.with(at, text(markedAsRepeated(first.text)));
}

function backOff(attempts: number, clock: Clock): number {
  const [chance = 0] = clock.random(1);
  const step = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(20, attempts - 1));
  return Math.round(step * (0.75 + chance / 512));
}
