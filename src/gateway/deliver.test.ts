import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { look } from "../../test/support/database.ts";
import { text, textOf } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import { type PlatformTraits, platformTraits } from "../core/platforms.ts";
import { unrefused } from "../core/refusal.ts";
import { REPEATED_MARK } from "../core/repetition.ts";
import type { Source } from "../core/source.ts";
import type { Outbound, Platform, Sent } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { type FakeClock, fakeClock, type Home, MINUTE, openHome } from "../sessions/test-home.ts";
import { localRunner } from "../stores/sqlite/runners.ts";
import { type DeliverOptions, type Outbox, outbox } from "./deliver.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1" };
const bob: Source = { platform: "telegram", chatType: "dm", chatId: "2", userId: "2" };
const yes: Sent = { state: "sent", messageId: "m" };
const later: Sent = { state: "not_sent", reason: "Not now." };
const no: Sent = { state: "refused", reason: "You are not wanted here." };
const broken: Sent = { state: "unknown", reason: "The connection broke." };

interface Attempt {
  readonly at: number;
  readonly chat: string;
  readonly words: string;
  readonly nonce: string;
}

/** An error is thrown, which no platform should do. */
type Planned = Sent | Promise<Sent> | Error;

interface Post {
  readonly home: Home;
  readonly out: Outbox;
  readonly attempts: readonly Attempt[];
  readonly lookUps: readonly string[];
  readonly log: readonly string[];
  /** What the messenger does with the next attempts; with all others, it takes them. */
  answer(...next: readonly Planned[]): void;
  /** The texts of the attempts, in order. */
  words(chat?: string): string[];
  /** Lets time pass, in steps. */
  pass(ms: number, step?: number): Promise<void>;
}

async function post(
  options: Partial<DeliverOptions> & {
    readonly outbound?: PlatformTraits["outbound"];
    readonly storeAs?: (store: Store) => Store;
    readonly found?: (nonce: string) => Promise<string | undefined>;
  } = {},
): Promise<Post> {
  // Time that is one for the clock and the timers.
  const clock: FakeClock = {
    ...fakeClock(),
    now: () => Date.now(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
  const home = await openHome({}, clock);
  const { store } = home;
  const runner = localRunner();
  await store.beat({ runner, now: clock.now() });
  const attempts: Attempt[] = [];
  const lookUps: string[] = [];
  const log: string[] = [];
  const planned: Planned[] = [];
  const { outbound = "unknowable", found, storeAs = (same: Store) => same, ...more } = options;
  const platform: Platform = {
    name: "telegram",
    account: "1",
    traits: { ...platformTraits("telegram"), outbound },
    run: () => new Promise(() => {}),
    async send({ target, parts, nonce }: Outbound): Promise<Sent> {
      attempts.push({ at: clock.now(), chat: target.chatId, words: textOf({ parts }), nonce });
      const next = (await planned.shift()) ?? { state: "sent", messageId: `m${attempts.length}` };
      if (next instanceof Error) throw next;
      return next;
    },
    async lookUp({ nonce }) {
      lookUps.push(nonce);
      return found?.(nonce);
    },
  };
  const say = (_: object, words: string): void => void log.push(words);
  const out = outbox({
    store: storeAs(store),
    platform,
    runner: runner.id,
    clock,
    log: { debug: () => {}, info: say, warn: say, error: say },
    mayStart: () => true,
    ...more,
  });
  onTestFinished(() => out.close());
  return {
    home,
    out,
    attempts,
    lookUps,
    log,
    answer: (...next) => void planned.push(...next),
    words: (chat) =>
      attempts.filter((one) => chat === undefined || one.chat === chat).map(({ words }) => words),
    async pass(ms, step = 250) {
      for (const until = Date.now() + ms; Date.now() < until; ) {
        // What was set off by a timer comes to its end before the next one.
        for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
        await vi.advanceTimersByTimeAsync(Math.min(step, until - Date.now()));
      }
      for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
    },
  };
}

const statesIn = ({ file }: Home): unknown[] =>
  look(file, (db) => db.prepare("select state from deliveries order by n").pluck().all());

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

describe("what goes to one chat", () => {
  it("goes in order: nothing overtakes what has to be tried again, and other chats do not wait for it", async () => {
    const { out, answer, words, pass, home } = await post();
    answer(later);
    await out.say(ada, "one");
    await out.say(ada, "two");
    await out.say(bob, "for Bob");
    await pass(500);
    expect(words()).toEqual(["one", "for Bob"]);
    await pass(1000);
    expect(words("1")).toEqual(["one", "one", "two"]);
    expect(statesIn(home)).toEqual(["sent", "sent", "sent"]);
  });

  it("keeps its order while it is being stored, whoever looks meanwhile", async () => {
    const { out, words, pass } = await post();
    const long = Array.from({ length: 5 }, (_, n) => `${n} ${"x".repeat(4000)}`).join("\n\n");
    await Promise.all([out.say(ada, long), out.look(), out.say(ada, "after it"), out.look(), out.look()]);
    await pass(10_000);
    expect(words().map((one) => one.slice(0, 8))).toEqual([
      ..."01234".split("").map((n) => `${n} xxxxxx`),
      "after it",
    ]);
  });
});

describe("what is not taken", () => {
  it("is tried again after a second, then after twice as long each time, up to ten minutes", async () => {
    const { out, answer, attempts, pass } = await post();
    answer(...Array.from({ length: 13 }, () => later));
    await out.say(ada, "hello");
    await pass(60 * MINUTE, 1000);
    const waits = attempts.slice(1).map(({ at }, n) => (at - (attempts[n]?.at ?? 0)) / 1000);
    waits.forEach((wait, n) => {
      const step = Math.min(600, 2 ** n);
      expect(wait, `wait ${n}`).toBeGreaterThanOrEqual(step * 0.75);
      expect(wait, `wait ${n}`).toBeLessThanOrEqual(step * 1.25 + 1);
    });
    expect(waits).toHaveLength(13);
  });

  it("is tried again when the messenger says, and not before", async () => {
    const { out, answer, attempts, pass } = await post();
    answer({ ...later, retryAfterMs: 42_000 } as Sent);
    await out.say(ada, "hello");
    await pass(41_000);
    expect(attempts).toHaveLength(1);
    await pass(1000);
    expect(attempts).toHaveLength(2);
  });

  it("is given up after more than a day, and the person is told once", async () => {
    const { out, answer, attempts, words, pass, home } = await post();
    const { session } = await sessionOf(home);
    answer(...Array.from({ length: 160 }, () => later));
    await out.put(ada, [{ target: ada, parts: [text("hello")] }], { session });
    await pass(40 * 60 * MINUTE, MINUTE);
    const [first, last] = [attempts[0], attempts[159]];
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(24 * 60 * MINUTE);
    expect(words().slice(159)).toEqual([
      "hello",
      expect.stringMatching(/could not be delivered here: Not now\./),
    ]);
    expect(statesIn(home)).toEqual(["dead", "sent"]);
  });

  it("is given up at once when they say no; the person is told once, if they can be, and the next is sent", async () => {
    const { out, answer, words, pass, home, log } = await post();
    const { session } = await sessionOf(home);
    // Neither the answer nor the word about it is wanted.
    answer(no, yes, no);
    await out.put(ada, [{ target: ada, parts: [text("hello")] }], { session });
    await out.say(ada, "and then");
    await pass(60 * MINUTE);
    expect(words()).toEqual([
      "hello",
      "and then",
      expect.stringMatching(/could not be delivered here: You are not wanted here\. .*\/history shows it/),
    ]);
    expect(statesIn(home).toSorted()).toEqual(["dead", "dead", "sent"]);
    expect(log.filter((line) => line === "could not be delivered")).toHaveLength(2);
  });
});

describe("what may have arrived", () => {
  it("is sent again with a mark where nobody can know", async () => {
    const { out, answer, words, pass } = await post();
    answer(broken);
    await out.say(ada, "hello");
    await pass(2000);
    expect(words()).toEqual(["hello", `${REPEATED_MARK}\nhello`]);
  });

  it("is what a platform leaves behind that breaks its promise: it is not sent every second", async () => {
    const { out, answer, words, pass } = await post();
    answer(new Error("a slip"), new Error("a slip"));
    await out.say(ada, "hello");
    await pass(2000);
    await pass(4000);
    expect(words()).toEqual(["hello", `${REPEATED_MARK}\nhello`, `${REPEATED_MARK}\nhello`]);
  });

  it("is sent again under the same name, without a mark, where the messenger knows it by that", async () => {
    const { out, answer, attempts, words, pass } = await post({ outbound: "idempotent" });
    answer(broken);
    await out.say(ada, "hello");
    await pass(2000);
    expect(words()).toEqual(["hello", "hello"]);
    expect(new Set(attempts.map(({ nonce }) => nonce)).size).toBe(1);
  });

  it("is looked up first where that can be done, again if need be, and sent only if it is not there", async () => {
    const answers = [
      () => Promise.reject(new Error("no connection")),
      async () => "m1",
      async () => undefined,
    ];
    const found = (): Promise<string | undefined> => answers.shift()?.() ?? Promise.resolve(undefined);
    const { out, answer, words, lookUps, pass, home } = await post({ outbound: "can_be_looked_up", found });
    answer(broken);
    await out.say(ada, "there");
    await pass(2000);
    await pass(4000);
    expect([words(), lookUps.length, statesIn(home)]).toEqual([["there"], 2, ["sent"]]);
    answer(broken);
    await out.say(ada, "not there");
    await pass(2000);
    expect(words()).toEqual(["there", "not there", "not there"]);
  });
});

describe("whatever happens meanwhile", () => {
  it("what was sent is not sent again because it cannot be noted for a while", async () => {
    let failures = 3;
    const storeAs = (store: Store): Store => ({
      ...store,
      settle(given) {
        failures -= 1;
        return failures < 0 ? store.settle(given) : Promise.reject(new Error("no room"));
      },
    });
    const { out, words, pass, log, home } = await post({ storeAs });
    await out.say(ada, "hello");
    await pass(10_000);
    expect(words()).toEqual(["hello"]);
    expect(statesIn(home)).toEqual(["sent"]);
    expect(log.filter((line) => /could not be stored yet/.test(line))).toHaveLength(3);
  });

  it("a session that is removed while something of it is being sent holds up nothing", async () => {
    const { out, answer, words, pass, home, log } = await post();
    const { session } = await sessionOf(home);
    const sending = Promise.withResolvers<Sent>();
    answer(sending.promise);
    await out.put(ada, [{ target: ada, parts: [text("hello")] }], { session });
    await out.say(ada, "and then");
    expect(await home.sessions.remove({ person: OWNER }, session)).toBe(true);
    sending.resolve({ state: "sent", messageId: "m1" });
    await pass(10_000);
    expect(words()).toEqual(["hello", "and then"]);
    expect(log).toEqual([]);
  });

  it("nothing is begun while the connection may be another's", async () => {
    let mine = false;
    const { out, words, pass } = await post({ mayStart: () => mine });
    await out.say(ada, "hello");
    await pass(10_000);
    expect(words()).toEqual([]);
    mine = true;
    await pass(1000);
    expect(words()).toEqual(["hello"]);
  });

  it("what was never seen is sent, also when a look begins behind it", async () => {
    const { out, words, pass, home } = await post();
    const { store, clock } = home;
    const deliveries = ["one", "two"].map((words) => ({ target: bob, parts: [text(words)] }));
    const stored = await store.enqueue({ deliveries, runner: "", now: clock.now() });
    await out.look(stored.deliveries[0]?.number);
    await pass(500);
    expect(words()).toEqual(["one", "two"]);
  });

  it("a draft that another process has ended is sent, though newer ones were seen before it", async () => {
    const { out, words, pass, home } = await post();
    const { store, clock } = home;
    const runner = localRunner();
    await store.beat({ runner, now: clock.now() });
    const accepted = await store.accept({
      source: ada,
      profile: "main",
      scope: { groupsPerUser: true, threadsPerUser: true },
      reset: {},
      newSession: { id: "talk", kind: "chat" },
      messageId: "1",
      message: { role: "user", parts: [text("hello")] },
      claim: { runner: runner.id, take: "one" },
      now: clock.now(),
    });
    if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
      throw new Error("the turn has not begun");
    const { number: turn, fence } = accepted.turn;
    const draft = unrefused(await store.beginDraft({ turn, fence, target: ada, now: clock.now() }));
    await store.enqueue({
      deliveries: [{ target: bob, parts: [text("newer")] }],
      runner: "",
      now: clock.now(),
    });
    await out.look();
    const ended = { target: ada, parts: [text("whole")], draft: draft.number };
    const end = {
      turn,
      fence,
      outcome: "done",
      messages: [],
      deliveries: [ended],
      now: clock.now(),
    } as const;
    unrefused(await store.finish(end));
    await out.look();
    await pass(500);
    expect(words()).toEqual(["newer"]);
    await out.look(0);
    await pass(500);
    // Whether anything of it was shown is not known here.
    expect(words("1")).toEqual([`${REPEATED_MARK}\nwhole`]);
    await out.look(0);
    await pass(500);
    expect(words()).toHaveLength(2);
  });

  it("the end waits for what is being sent, begins nothing more, and leaves the rest for the next start", async () => {
    const { out, answer, words, home } = await post();
    const sending = Promise.withResolvers<Sent>();
    answer(sending.promise);
    await out.say(ada, "one");
    await out.say(ada, "two");
    let isClosed = false;
    const closed = out.close().then(() => {
      isClosed = true;
    });
    await vi.advanceTimersByTimeAsync(5000);
    expect(isClosed).toBe(false);
    sending.resolve({ state: "sent", messageId: "m1" });
    await closed;
    expect(words()).toEqual(["one"]);
    expect(statesIn(home)).toEqual(["sent", "waiting"]);
  });
});

async function sessionOf({ sessions }: Home): Promise<{ session: string }> {
  const { id } = await sessions.create({ person: OWNER }, { id: "talk" });
  return { session: id };
}
