import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { look } from "../../test/support/database.ts";
import { type FakeClock, fakeClock, type Home, MINUTE, openHome } from "../../test/support/test-home.ts";
import { wrapStore } from "../../test/support/wrap-store.ts";
import type { Delivery } from "../core/delivery.ts";
import { getText, textPart } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import { type PlatformTraits, platformTraits } from "../core/platforms.ts";
import { throwIfRefused } from "../core/refusal.ts";
import { REPEATED_MARK } from "../core/repetition.ts";
import type { Source } from "../core/source.ts";
import type { Outbound, Platform, SendOutcome } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { localRunner } from "../system/local-runner.ts";
import { type Outbox, type OutboxOptions, outbox } from "./deliver.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1" };
const bob: Source = { platform: "telegram", chatType: "dm", chatId: "2", userId: "2" };
const later: SendOutcome = { state: "not_sent", reason: "Not now." };
const failed: SendOutcome = { state: "not_sent", reason: "Server error.", cause: "message" };
const no: SendOutcome = { state: "refused", reason: "You are not wanted here." };
const broken: SendOutcome = { state: "unknown", reason: "The connection broke." };

interface Attempt {
  readonly at: number;
  readonly chat: string;
  readonly words: string;
  readonly nonce: string;
}

/** `Error`: `send` throws it, which breaks the contract of a platform. */
type Planned = SendOutcome | Promise<SendOutcome> | Error;

interface Post {
  readonly home: Home;
  readonly out: Outbox;
  readonly attempts: readonly Attempt[];
  readonly lookUps: readonly string[];
  readonly log: readonly string[];
  /** The outcomes of the next attempts. All others are sent. */
  answer(...next: readonly Planned[]): void;
  /** The texts of the attempts, in order. */
  words(chat?: string): string[];
  /** Decides the outcome of every attempt that has no planned one. */
  fault(decide: (words: string) => SendOutcome | undefined): void;
  /** Lets time pass, in steps. */
  pass(ms: number, step?: number): Promise<void>;
  /** Sets the system clock ahead of the real time, or back. */
  setClock(ms: number): void;
  /** Another gateway process with the same file and the same messenger. */
  restart(): Promise<Outbox>;
}

async function openPost(
  options: Partial<OutboxOptions> & {
    readonly outbound?: PlatformTraits["outbound"];
    readonly storeAs?: (store: Store) => Store;
    readonly found?: (nonce: string) => Promise<string | undefined>;
    readonly draftEveryMs?: number;
  } = {},
): Promise<Post> {
  // Timers and the monotonic clock share the fake time; the system clock can be set apart from it.
  let ahead = 0;
  const clock: FakeClock = {
    ...fakeClock(),
    now: () => Date.now() + ahead,
    monotonic: () => Date.now(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
  const home = await openHome({}, clock);
  const { store } = home;
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  const attempts: Attempt[] = [];
  const lookUps: string[] = [];
  const log: string[] = [];
  const planned: Planned[] = [];
  let decide: (words: string) => SendOutcome | undefined = () => undefined;
  const { outbound = "unknowable", found, draftEveryMs, storeAs = (same: Store) => same, ...more } = options;
  const platform: Platform = {
    name: "telegram",
    account: "1",
    traits: { ...platformTraits("telegram"), outbound },
    run: () => new Promise(() => {}),
    async send({ target, parts, nonce }: Outbound): Promise<SendOutcome> {
      attempts.push({ at: clock.monotonic(), chat: target.chatId, words: getText({ parts }), nonce });
      const next = (await planned.shift()) ??
        decide(getText({ parts })) ?? { state: "sent", messageId: `m${attempts.length}` };
      if (next instanceof Error) throw next;
      return next;
    },
    async lookUp({ nonce }) {
      lookUps.push(nonce);
      return found?.(nonce);
    },
    ...(draftEveryMs !== undefined && { getDraftIntervalMs: () => draftEveryMs }),
  };
  const say = (_: object, words: string): void => void log.push(words);
  const start = (): Outbox => {
    const made = outbox({
      store: storeAs(store),
      platform,
      runner: runner.id,
      clock,
      log: { debug: () => {}, info: say, warn: say, error: say },
      canSend: () => true,
      ...more,
    });
    onTestFinished(() => made.close());
    return made;
  };
  const out = start();
  return {
    home,
    out,
    attempts,
    lookUps,
    log,
    answer: (...next) => void planned.push(...next),
    fault: (other) => {
      decide = other;
    },
    setClock: (ms) => {
      ahead = ms;
    },
    async restart() {
      await out.close();
      const next = start();
      await next.poll();
      return next;
    },
    words: (chat) =>
      attempts.filter((one) => chat === undefined || one.chat === chat).map(({ words }) => words),
    async pass(ms, step = 250) {
      for (const until = Date.now() + ms; Date.now() < until; ) {
        // The work that a timer started ends before the next timer.
        for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
        await vi.advanceTimersByTimeAsync(Math.min(step, until - Date.now()));
      }
      for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
    },
  };
}

const readStates = ({ file }: Home): unknown[] =>
  look(file, (db) => db.prepare("select state from deliveries order by n").pluck().all());

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

describe("the deliveries of one chat", () => {
  it("are sent in order: none overtakes a retry, and other chats do not wait for it", async () => {
    const { out, answer, words, pass, home } = await openPost();
    answer(later);
    await out.sendText(ada, "one");
    await out.sendText(ada, "two");
    await out.sendText(bob, "for Bob");
    await pass(500);
    expect(words()).toEqual(["one", "for Bob"]);
    await pass(1000);
    expect(words("1")).toEqual(["one", "one", "two"]);
    expect(readStates(home)).toEqual(["sent", "sent", "sent"]);
  });

  it("keep their order when the outbox is polled while they are stored", async () => {
    const { out, words, pass } = await openPost();
    const long = Array.from({ length: 5 }, (_, n) => `${n} ${"x".repeat(4000)}`).join("\n\n");
    await Promise.all([
      out.sendText(ada, long),
      out.poll(),
      out.sendText(ada, "after it"),
      out.poll(),
      out.poll(),
    ]);
    await pass(10_000);
    expect(words().map((one) => one.slice(0, 8))).toEqual([
      ..."01234".split("").map((n) => `${n} xxxxxx`),
      "after it",
    ]);
  });
});

describe("a delivery that becomes visible after one with a higher number", () => {
  /** Another process stores these for Ada; the first of them stays invisible until `show` is called. */
  async function hidden(words: readonly string[], target = ada) {
    const hide = new Set<number>();
    const storeAs = (store: Store): Store =>
      wrapStore(store, async ({ name, run }) => {
        if (name !== "listPendingDeliveries") return run();
        return ((await run()) as readonly Delivery[]).filter(({ number }) => !hide.has(number));
      });
    const room = await openPost({ storeAs });
    const { store, clock } = room.home;
    const deliveries = words.map((text) => ({ target, parts: [textPart(text)] }));
    const stored = await store.outbox.enqueue({ deliveries, runner: "", now: clock.now() });
    hide.add(stored.deliveries[0]?.number ?? 0);
    return { ...room, show: () => hide.clear() };
  }

  it("is sent", async () => {
    const { out, words, pass, home, show } = await hidden(["one", "two"]);
    await out.poll();
    await pass(500);
    expect(words()).toEqual(["two"]);
    show();
    await out.poll();
    await out.poll();
    await pass(500);
    expect(words()).toEqual(["two", "one"]);
    expect(readStates(home)).toEqual(["sent", "sent"]);
  });

  it("is sent before those that have not been begun yet", async () => {
    const { out, answer, words, pass, show } = await hidden(["one", "two", "three"]);
    const sending = Promise.withResolvers<SendOutcome>();
    answer(sending.promise);
    await out.poll();
    await pass(500);
    expect(words()).toEqual(["two"]);
    show();
    await out.poll();
    sending.resolve({ state: "sent", messageId: "m1" });
    await pass(500);
    expect(words()).toEqual(["two", "one", "three"]);
  });
});

describe("while thousands of deliveries are queued", () => {
  const MANY = 2500;

  async function outage() {
    const reads: number[] = [];
    const storeAs = (store: Store): Store =>
      wrapStore(store, async ({ name, run }) => {
        const result = await run();
        if (name === "listPendingDeliveries") reads.push((result as readonly Delivery[]).length);
        return result;
      });
    const room = await openPost({ storeAs });
    const { store, clock } = room.home;
    const put = (target: Source, texts: readonly string[]) =>
      store.outbox.enqueue({
        deliveries: texts.map((text) => ({ target, parts: [textPart(text)] })),
        runner: "",
        now: clock.now(),
      });
    await put(
      ada,
      Array.from({ length: MANY }, (_, index) => `old ${index}`),
    );
    return { ...room, put, reads };
  }

  it("each is read once, polls pause, and another chat waits for less than a second", async () => {
    const { out, answer, words, pass, put, reads } = await outage();
    answer(...Array.from({ length: 50 }, () => later));
    await out.poll();
    expect(reads.reduce((sum, read) => sum + read)).toBe(MANY);
    reads.length = 0;
    await put(bob, ["for Bob"]);
    for (let time = 0; time < 20; time += 1) await out.poll();
    expect(reads).toEqual([]);
    await pass(MANY * 0.05);
    await out.poll();
    expect(reads).toEqual([1]);
    await pass(50);
    expect(words("2")).toEqual(["for Bob"]);
  });
});

describe("a delivery that the messenger does not accept", () => {
  it("is retried after a second, then after twice as long each time, up to ten minutes", async () => {
    const { out, answer, attempts, pass } = await openPost();
    answer(...Array.from({ length: 13 }, () => later));
    await out.sendText(ada, "hello");
    await pass(60 * MINUTE, 1000);
    const waits = attempts.slice(1).map(({ at }, n) => (at - (attempts[n]?.at ?? 0)) / 1000);
    waits.forEach((wait, n) => {
      const step = Math.min(600, 2 ** n);
      expect(wait, `wait ${n}`).toBeGreaterThanOrEqual(step * 0.75);
      expect(wait, `wait ${n}`).toBeLessThanOrEqual(step * 1.25 + 1);
    });
    expect(waits).toHaveLength(13);
  });

  it("is retried after the time that the messenger names, and not before", async () => {
    const { out, answer, attempts, pass } = await openPost();
    answer({ ...later, retryAfterMs: 42_000 } as SendOutcome);
    await out.sendText(ada, "hello");
    await pass(41_000);
    expect(attempts).toHaveLength(1);
    await pass(1000);
    expect(attempts).toHaveLength(2);
  });

  it("is dropped after more than a day, and the person gets one notice", async () => {
    const { out, answer, attempts, words, pass, home } = await openPost();
    const { session } = await createSession(home);
    answer(...Array.from({ length: 160 }, () => later));
    await out.enqueue(ada, [{ target: ada, parts: [textPart("hello")] }], { session });
    // The store works in real time, while the fake time advances.
    await pass(100 * 60 * MINUTE, MINUTE);
    const [first, last] = [attempts[0], attempts[159]];
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(24 * 60 * MINUTE);
    expect(words().slice(159)).toEqual([
      "hello",
      expect.stringMatching(/could not be delivered here: Not now\./),
    ]);
    expect(readStates(home)).toEqual(["dead", "sent"]);
  });

  it("is dropped at once when it is refused; the person gets one notice if possible, and the next delivery is sent", async () => {
    const { out, answer, words, pass, home, log } = await openPost();
    const { session } = await createSession(home);
    // The messenger refuses the answer and the notice.
    answer(no, no);
    await out.enqueue(ada, [{ target: ada, parts: [textPart("hello")] }], { session });
    await out.sendText(ada, "and then");
    await pass(60 * MINUTE);
    expect(words()).toEqual([
      "hello",
      expect.stringMatching(/could not be delivered here: You are not wanted here\. .*\/history shows it/),
      "and then",
    ]);
    expect(readStates(home).toSorted()).toEqual(["dead", "dead", "sent"]);
    expect(log.filter((line) => line === "not delivered; dropped")).toHaveLength(2);
  });
});

describe("a delivery that fails with an error every time", () => {
  const NOTICE = /could not be delivered here: Server error\. It is tried again for about a day\./;
  /** The messenger rejects every message that matches, and accepts all others. */
  const failMatching =
    (refused: RegExp, refusal: SendOutcome = failed) =>
    (words: string): SendOutcome | undefined =>
      refused.test(words) ? refusal : undefined;

  it("is deferred within half a minute: later ones are sent in order, and a notice takes its place", async () => {
    const { out, words, pass, home, fault } = await openPost();
    const { session } = await createSession(home);
    fault(failMatching(/two/));
    const parts = ["one", "two", "three"].map((part) => ({ target: ada, parts: [textPart(part)] }));
    await out.enqueue(ada, parts, { session });
    await out.sendText(ada, "and then");
    await pass(30_000);
    const shown = words().filter((one) => one !== "two");
    expect(shown).toEqual(["one", expect.stringMatching(NOTICE), "three", "and then"]);
    const [{ handle = "" } = {}] = await home.store.sessions.find({
      asker: { everyone: true },
      text: session,
    });
    expect(shown[1]).toContain(`\`postrider sessions show ${handle} --everyone\``);
    expect(await home.store.outbox.listDeferredDeliveries({ limit: 9 })).toMatchObject([
      { parts: [{ text: "two" }], status: { deferredAt: expect.any(Number), lastError: "Server error." } },
    ]);
  });

  it("is retried at growing intervals beside the others, and arrives when the messenger accepts it", async () => {
    const { out, words, pass, fault, attempts, home } = await openPost();
    fault(failMatching(/two/));
    await out.sendText(ada, "two");
    await pass(20 * MINUTE, 1000);
    const waits = attempts
      .filter((one) => one.words === "two")
      .map(({ at }, index, all) => (at - (all[index - 1]?.at ?? at)) / 1000);
    waits.slice(1).forEach((wait, index) => {
      expect(wait, `wait ${index}`).toBeGreaterThanOrEqual(2 ** index * 0.75);
      expect(wait, `wait ${index}`).toBeLessThanOrEqual(2 ** index * 1.25 + 2);
    });
    expect(waits.length).toBeGreaterThan(8);
    fault(() => undefined);
    await pass(60 * MINUTE, 1000);
    expect(words().at(-1)).toBe("two");
    expect(words().filter((one) => NOTICE.test(one))).toHaveLength(1);
    expect(readStates(home)).toEqual(["sent", "sent"]);
  });

  it("is dropped after about a day, without a second notice", async () => {
    const { out, words, pass, fault, home, attempts } = await openPost();
    fault(failMatching(/two/));
    await out.sendText(ada, "two");
    await pass(60 * 60 * MINUTE, MINUTE);
    expect(words().filter((one) => one !== "two")).toEqual([expect.stringMatching(NOTICE)]);
    expect(readStates(home)).toEqual(["dead", "sent"]);
    const own = attempts.filter((one) => one.words === "two");
    expect(own).toHaveLength(35);
    const hours = ((own.at(-1)?.at ?? 0) - (own[0]?.at ?? 0)) / (60 * MINUTE);
    expect(hours).toBeGreaterThan(18);
    expect(hours).toBeLessThan(30);
  });

  it("stays deferred after a restart, and its notice keeps its position", async () => {
    const { out, words, pass, fault, restart } = await openPost();
    fault((one) => (/two|delivered/.test(one) ? failed : undefined));
    await out.sendText(ada, "two");
    // The notice fails as well, and is being retried when the process ends.
    await pass(20_000);
    await out.sendText(ada, "later");
    await restart();
    fault(failMatching(/two/));
    const before = words().length;
    await pass(MINUTE);
    const after = words()
      .slice(before)
      .filter((one) => one !== "two");
    expect(after).toEqual([expect.stringMatching(NOTICE), "later"]);
  });

  it("is not deferred while the messenger is down or asks to wait: everything stays in order", async () => {
    const { out, words, pass, fault, home } = await openPost();
    fault(failMatching(/./, later));
    await out.sendText(ada, "one");
    await out.sendText(ada, "two");
    await pass(20 * MINUTE, 1000);
    fault(failMatching(/./, { state: "not_sent", reason: "Too fast.", retryAfterMs: 60_000 }));
    await pass(20 * MINUTE, 1000);
    expect(await home.store.outbox.listDeferredDeliveries({ limit: 9 })).toEqual([]);
    const before = words().length;
    fault(() => undefined);
    await pass(20 * MINUTE, 1000);
    expect(words().slice(before)).toEqual(["one", "two"]);
  });

  it("is deferred as soon after an outage as at any other time", async () => {
    const { out, words, pass, fault } = await openPost();
    fault(failMatching(/./, later));
    await out.sendText(ada, "two");
    await out.sendText(ada, "and then");
    await pass(60 * MINUTE, 1000);
    fault(failMatching(/two/));
    // One back-off of the outage may still be in progress.
    await pass(13 * MINUTE + 30_000, 1000);
    expect(words()).toContain("and then");
  });

  it("is also deferred when the connection breaks at each of its attempts while others succeed", async () => {
    const { out, words, pass, fault } = await openPost();
    fault(failMatching(/upload/, broken));
    await out.sendText(ada, "upload");
    await out.sendText(ada, "and then");
    await pass(2 * MINUTE);
    expect(words("1").filter((one) => !/upload/.test(one))).toEqual([]);
    for (let time = 0; time < 15; time += 1) {
      await out.sendText(bob, "hello");
      await pass(MINUTE);
    }
    expect(words("1").filter((one) => !/upload/.test(one))).toEqual([
      expect.stringMatching(/could not be delivered here: The connection broke\./),
      "and then",
    ]);
  });

  it("keeps the mark of a possible repetition when it may have arrived", async () => {
    const { out, words, pass, fault } = await openPost();
    fault(failMatching(/two/, { state: "unknown", reason: "Server error.", cause: "message" }));
    await out.sendText(ada, "two");
    await pass(30_000);
    expect(
      words()
        .filter((one) => /two/.test(one))
        .slice(1),
    ).toEqual(Array.from({ length: words().length - 2 }, () => `${REPEATED_MARK}\ntwo`));
    expect(words().filter((one) => NOTICE.test(one))).toHaveLength(1);
  });
});

describe("a step of the system clock", () => {
  const HOUR_MS = 60 * MINUTE;

  it.each([
    ["back", -HOUR_MS],
    ["ahead", HOUR_MS],
  ])("%s does not delay the retry of a delivery", async (_, step) => {
    const { out, answer, words, pass, setClock } = await openPost();
    answer(later);
    await out.sendText(ada, "hello");
    await out.sendText(ada, "and then");
    await pass(500);
    setClock(step);
    await pass(1000);
    expect(words()).toEqual(["hello", "hello", "and then"]);
  });

  it("back does not delay the rest of a long answer", async () => {
    const { out, words, pass, setClock, home } = await openPost({ draftEveryMs: 1100 });
    const runner = localRunner();
    await home.store.runners.recordHeartbeat({ runner, now: home.clock.now() });
    const turn = await beginTurn(home, runner.id);
    const deliveries = ["one", "two", "three"].map((part) => ({ target: ada, parts: [textPart(part)] }));
    const end = { ...turn, outcome: "done", messages: [], deliveries, now: home.clock.now() } as const;
    out.schedule(throwIfRefused(await home.store.turns.finish(end)).deliveries);
    await pass(500);
    expect(words()).toEqual(["one"]);
    setClock(-HOUR_MS);
    await pass(3000);
    expect(words()).toEqual(["one", "two", "three"]);
  });

  it("ahead by two days does not delay a retry after a restart with the right time", async () => {
    const { out, answer, words, pass, setClock, restart } = await openPost();
    setClock(48 * HOUR_MS);
    answer(later);
    await out.sendText(ada, "hello");
    await pass(500);
    setClock(0);
    await restart();
    await pass(MINUTE);
    expect(words()).toEqual(["hello", "hello"]);
  });

  it("back before a restart, corrected soon after it, delays a stored retry by a minute at most", async () => {
    const { out, answer, attempts, pass, setClock, restart } = await openPost();
    answer(...Array.from({ length: 9 }, () => later));
    await out.sendText(ada, "hello");
    await pass(6 * MINUTE);
    expect(attempts).toHaveLength(9);
    setClock(-HOUR_MS);
    await restart();
    setClock(HOUR_MS);
    await pass(MINUTE);
    expect(attempts).toHaveLength(10);
  });
});

describe("a delivery that may have arrived", () => {
  it("is sent again with a mark if the messenger cannot find it", async () => {
    const { out, answer, words, pass } = await openPost();
    answer(broken);
    await out.sendText(ada, "hello");
    await pass(2000);
    expect(words()).toEqual(["hello", `${REPEATED_MARK}\nhello`]);
  });

  it("because the platform threw an error is retried with back-off, not every second", async () => {
    const { out, answer, words, pass } = await openPost();
    answer(new Error("a slip"), new Error("a slip"));
    await out.sendText(ada, "hello");
    await pass(2000);
    await pass(4000);
    expect(words()).toEqual(["hello", `${REPEATED_MARK}\nhello`, `${REPEATED_MARK}\nhello`]);
  });

  it("is sent again with the same nonce, without a mark, if the messenger drops duplicates", async () => {
    const { out, answer, attempts, words, pass } = await openPost({ outbound: "idempotent" });
    answer(broken);
    await out.sendText(ada, "hello");
    await pass(2000);
    expect(words()).toEqual(["hello", "hello"]);
    expect(new Set(attempts.map(({ nonce }) => nonce)).size).toBe(1);
  });

  it("is looked up first if the messenger can do that, with retries, and is sent only if it is absent", async () => {
    const answers = [
      () => Promise.reject(new Error("no connection")),
      async () => "m1",
      async () => undefined,
    ];
    const found = (): Promise<string | undefined> => answers.shift()?.() ?? Promise.resolve(undefined);
    const { out, answer, words, lookUps, pass, home } = await openPost({
      outbound: "can_be_looked_up",
      found,
    });
    answer(broken);
    await out.sendText(ada, "there");
    await pass(2000);
    await pass(4000);
    expect([words(), lookUps.length, readStates(home)]).toEqual([["there"], 2, ["sent"]]);
    answer(broken);
    await out.sendText(ada, "not there");
    await pass(2000);
    expect(words()).toEqual(["there", "not there", "not there"]);
  });
});

describe("the outbox", () => {
  it("does not repeat a delivery when storing its outcome fails for a while", async () => {
    let failures = 3;
    const storeAs = (store: Store): Store => ({
      ...store,
      outbox: {
        ...store.outbox,
        settle(given) {
          failures -= 1;
          return failures < 0 ? store.outbox.settle(given) : Promise.reject(new Error("no room"));
        },
      },
    });
    const { out, words, pass, log, home } = await openPost({ storeAs });
    await out.sendText(ada, "hello");
    await pass(10_000);
    expect(words()).toEqual(["hello"]);
    expect(readStates(home)).toEqual(["sent"]);
    expect(log.filter((line) => /outcome of a delivery could not be stored/.test(line))).toHaveLength(3);
  });

  it("is not blocked by a session that is removed while its delivery is in progress", async () => {
    const { out, answer, words, pass, home, log } = await openPost();
    const { session } = await createSession(home);
    const sending = Promise.withResolvers<SendOutcome>();
    answer(sending.promise);
    await out.enqueue(ada, [{ target: ada, parts: [textPart("hello")] }], { session });
    await out.sendText(ada, "and then");
    expect(await home.sessions.remove({ person: OWNER }, session)).toBe(true);
    sending.resolve({ state: "sent", messageId: "m1" });
    await pass(10_000);
    expect(words()).toEqual(["hello", "and then"]);
    expect(log).toEqual([]);
  });

  it("starts no delivery while another process may hold the connection", async () => {
    let mine = false;
    const { out, words, pass, home } = await openPost({ canSend: () => mine });
    const { store, clock } = home;
    const deliveries = [{ target: bob, parts: [textPart("of another process")] }];
    await store.outbox.enqueue({ deliveries, runner: "", now: clock.now() });
    await out.poll();
    await out.sendText(ada, "hello");
    await pass(10_000);
    expect(words()).toEqual([]);
    // The holder of the connection can send it.
    expect(readStates(home)[0]).toBe("waiting");
    mine = true;
    await pass(1000);
    expect(words().sort()).toEqual(["hello", "of another process"]);
  });

  it("sends nothing when its time on the connection ends while the store answers", async () => {
    let mine = true;
    const storeAs = (store: Store): Store =>
      wrapStore(store, async ({ name, run }) => {
        const result = await run();
        if (name === "beginDelivery") mine = false;
        return result;
      });
    const { out, words, pass, answer } = await openPost({ canSend: () => mine, storeAs });
    answer(later);
    await out.sendText(ada, "hello");
    await pass(10_000);
    expect(words()).toEqual(["hello"]);
    mine = true;
    await pass(1000);
    expect(words()).toEqual(["hello", "hello"]);
  });

  it("sends nothing when its time on the connection ends while the platform looks up an earlier attempt", async () => {
    let mine = true;
    const found = async (): Promise<undefined> => {
      mine = false;
    };
    const { out, words, pass, answer } = await openPost({
      canSend: () => mine,
      outbound: "can_be_looked_up",
      found,
    });
    answer(broken);
    await out.sendText(ada, "hello");
    await pass(10_000);
    expect(words()).toEqual(["hello"]);
  });

  it("sends a draft that another process has ended, though it has seen newer deliveries", async () => {
    const { out, words, pass, home } = await openPost();
    const { store, clock } = home;
    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now: clock.now() });
    const { turn, fence } = await beginTurn(home, runner.id);
    const draft = throwIfRefused(
      await store.outbox.beginDraft({ turn, fence, target: ada, now: clock.now() }),
    );
    await store.outbox.enqueue({
      deliveries: [{ target: bob, parts: [textPart("newer")] }],
      runner: "",
      now: clock.now(),
    });
    await out.poll();
    const ended = { target: ada, parts: [textPart("whole")], draft: draft.number };
    const end = {
      turn,
      fence,
      outcome: "done",
      messages: [],
      deliveries: [ended],
      now: clock.now(),
    } as const;
    throwIfRefused(await store.turns.finish(end));
    await pass(500);
    expect(words()).toEqual(["newer"]);
    await out.poll();
    await pass(500);
    // This process cannot know whether a part of it was shown.
    expect(words("1")).toEqual([`${REPEATED_MARK}\nwhole`]);
    await out.poll();
    await pass(500);
    expect(words()).toHaveLength(2);
  });

  it("finishes the delivery in progress at shutdown, starts no other, and leaves the rest for the next start", async () => {
    const { out, answer, words, home } = await openPost();
    const sending = Promise.withResolvers<SendOutcome>();
    answer(sending.promise);
    await out.sendText(ada, "one");
    await out.sendText(ada, "two");
    let isClosed = false;
    const closed = out.close().then(() => {
      isClosed = true;
    });
    await vi.advanceTimersByTimeAsync(5000);
    expect(isClosed).toBe(false);
    sending.resolve({ state: "sent", messageId: "m1" });
    await closed;
    expect(words()).toEqual(["one"]);
    expect(readStates(home)).toEqual(["sent", "waiting"]);
  });
});

async function createSession({ sessions }: Home): Promise<{ session: string }> {
  const { id } = await sessions.create({ person: OWNER }, { id: "talk" });
  return { session: id };
}

async function beginTurn({ store, clock }: Home, runner: string): Promise<{ turn: number; fence: number }> {
  const accepted = await store.inbox.accept({
    source: ada,
    profile: "main",
    scope: { groupsPerUser: true, threadsPerUser: true },
    reset: {},
    newSession: { id: "talk", kind: "chat" },
    messageId: "1",
    message: { role: "user", parts: [textPart("hello")] },
    claim: { runner, take: "one" },
    now: clock.now(),
  });
  if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
    throw new Error("the turn has not started");
  return { turn: accepted.turn.number, fence: accepted.turn.fence };
}
