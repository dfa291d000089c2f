import { describe, expect, it, onTestFinished, vi } from "vitest";
import { look } from "../../test/support/database.ts";
import { type GatewayRoomOptions, gatewayRoom } from "../../test/support/gateway-room.ts";
import { runIn } from "../../test/support/running.ts";
import { deadRunner } from "../../test/support/talking.ts";
import { DAY, HOUR, MINUTE } from "../../test/support/test-home.ts";
import { timedHome, useFakeTime } from "../../test/support/timed-room.ts";
import { echo } from "../agents/echo.ts";
import { getText, textPart } from "../core/message.ts";
import { DEFAULT_RESET_POLICY } from "../core/reset-policy.ts";
import { HEARTBEAT_MS } from "../core/runner.ts";
import type { Source } from "../core/source.ts";
import type { Agent } from "../ports/agent.ts";
import { buildRouting, DEFAULT_RESET } from "../sessions/routing.ts";
import { localRunner } from "../system/local-runner.ts";
import { EXPIRY_LEASE } from "./expire.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };
const all = { everyone: true } as const;
const IDLE_MINUTES = 10;
const idle = {
  reset: {
    default: { ...DEFAULT_RESET_POLICY, mode: "idle" as const, idleMinutes: IDLE_MINUTES },
    byType: {},
    byPlatform: {},
  },
};

useFakeTime();

/** A running gateway with fake time: only its own timers drive it. */
async function start(options: Partial<GatewayRoomOptions> = {}, expected: readonly string[] = []) {
  const { home, time } = await timedHome();
  const room = await gatewayRoom({ agent: echo, home, ...options });
  onTestFinished(() => expect(room.errors.map(([words]) => words)).toEqual(expected));
  const chat = room.chat(ada);
  const count = (table: string): unknown =>
    look(home.file, (db) => db.prepare(`select count(*) from ${table}`).pluck().get());
  return {
    ...{ room, home, time, chat, count },
    /** Sends these messages, each after the answer to the previous one. Returns the session. */
    async say(...lines: readonly string[]): Promise<string> {
      for (const line of lines) {
        await chat.say(line);
        await time.settle();
      }
      const [conversation] = await home.sessions.conversations(all, ada);
      return conversation?.session ?? "";
    },
    endOf: async (session: string) => (await home.sessions.get(all, session))?.endReason,
    sentSoFar: async () => (await chat.texts(0)).length,
  };
}

describe("expiry", () => {
  it("ends a session within a minute after its idle time, and not before", async () => {
    const { room, time, say, endOf } = await start({ settings: idle });
    const session = await say("hello");
    await time.pass(IDLE_MINUTES * MINUTE - 1000);
    expect(await endOf(session)).toBeUndefined();
    await time.pass(MINUTE + 1000);
    expect(await endOf(session)).toBe("idle");
    expect(await room.untilTold("session:end")).toMatchObject([{ session, reason: "idle" }]);
  });

  it("starts a new session with the next message", async () => {
    const { time, say } = await start({ settings: idle });
    const before = await say("hello");
    await time.pass((IDLE_MINUTES + 1) * MINUTE);
    expect(await say("again")).not.toBe(before);
  });

  it("runs in one process: this one waits while another holds the lease", async () => {
    const { home, time, say, endOf } = await start({ settings: idle });
    const session = await say("hello");
    const other = localRunner();
    const lease = { name: EXPIRY_LEASE, runner: other.id, ttlMs: HOUR };
    await home.store.runners.recordHeartbeat({ runner: other, now: Date.now() });
    expect(await home.store.runners.acquireLease({ ...lease, now: Date.now() })).toBeDefined();
    await time.pass((IDLE_MINUTES + 2) * MINUTE);
    expect(await endOf(session)).toBeUndefined();
    await home.store.runners.releaseLease({ name: EXPIRY_LEASE, runner: other.id });
    await time.pass(MINUTE);
    expect(await endOf(session)).toBe("idle");
  });

  it("treats activity in the future as activity now, after an hour with a steady clock", async () => {
    const { time, say, endOf } = await start({ settings: idle });
    time.jump(DAY);
    const session = await say("hello");
    time.jump(-DAY);
    await time.pass(HOUR, 5000);
    expect(await endOf(session)).toBeUndefined();
    await time.pass((IDLE_MINUTES + 3) * MINUTE, 5000);
    expect(await endOf(session)).toBe("idle");
  });

  it("stops with the gateway", async () => {
    const { room, home, time, say, endOf } = await start({ settings: idle });
    const session = await say("hello");
    await room.gateway.stop();
    await time.pass((IDLE_MINUTES + 5) * MINUTE);
    expect(await endOf(session)).toBeUndefined();
    expect(await home.store.runners.listLeases({ now: Date.now() })).toEqual([]);
  });
});

describe("clearing", () => {
  it("removes done inbox rows, turns and deliveries after thirty days, and no message", async () => {
    const { home, time, say, count } = await start();
    const session = await say("hello");
    const rows = () => ["inbox", "turns", "deliveries"].map(count);
    time.jump(30 * DAY - 2 * MINUTE);
    await time.pass(MINUTE);
    expect(rows()).toEqual([1, 1, 1]);
    time.jump(2 * MINUTE);
    await time.pass(MINUTE);
    expect(rows()).toEqual([0, 0, 0]);
    expect((await home.sessions.history(all, session))?.map(getText)).toEqual(["hello", "You said: hello"]);
  });

  it("removes the sessions of jobs and webhooks after thirty days, and no session of a person", async () => {
    const { home, time, say } = await start();
    const own = await say("hello");
    for (const kind of ["job", "webhook", "chat"] as const) {
      const { id } = await home.sessions.create({ person: "p_ada" }, { kind });
      await home.sessions.append(all, id, { role: "user", text: "run" });
      await home.sessions.change(all, id, { ended: true });
    }
    const kinds = async () => (await home.sessions.list(all)).items.map(({ kind }) => kind).sort();
    time.jump(30 * DAY - 2 * MINUTE);
    await time.pass(MINUTE);
    expect(await kinds()).toEqual(["chat", "chat", "job", "webhook"]);
    time.jump(2 * MINUTE);
    await time.pass(MINUTE);
    expect(await kinds()).toEqual(["chat", "chat"]);
    expect(await home.sessions.get(all, own)).toBeDefined();
  });

  it("stops with the gateway", async () => {
    const { room, time, say, count } = await start();
    await say("hello");
    await room.gateway.stop();
    time.jump(31 * DAY);
    await time.pass(2 * MINUTE);
    expect(count("deliveries")).toBe(1);
  });
});

describe("the flush of the memory", () => {
  /** Echoes messages, and saves a note for each session that it flushes. */
  const remembers: Agent = {
    name: "remembers",
    canTitle: true,
    async *run({ session, tools = [], history }, signal) {
      const words = getText(history.at(-1) ?? { parts: [] });
      const isFlush = words.includes("about to be put away");
      for (const tool of isFlush ? tools : [])
        await tool.run({ action: "add", text: session }, { id: "1", signal });
      yield { type: "text", text: isFlush ? "" : `You said: ${words}` };
    },
  };
  type Timed = Awaited<ReturnType<typeof start>>;
  const entries = async ({ home }: Timed, owner: string) =>
    (await home.store.memory.getMemory({ owner })).entries;

  /** A session for which another process requests a flush; this gateway gets no event. */
  async function markElsewhere({ home }: Timed): Promise<string> {
    const { id } = await home.sessions.create({ person: "p_bob" });
    for (const line of ["one", "two", "three", "four"])
      await home.sessions.append(all, id, { role: "user", text: line });
    expect(await home.store.memory.requestFlush({ session: id, now: Date.now() })).toBe(true);
    return id;
  }

  it("runs within a minute for a session that another process has marked", async () => {
    const timed = await start({ agent: remembers });
    await timed.time.pass(MINUTE);
    const session = await markElsewhere(timed);
    await timed.time.pass(MINUTE - 1000);
    expect(await entries(timed, "p_bob")).toEqual([]);
    await timed.time.pass(1000);
    expect(await entries(timed, "p_bob")).toEqual([session]);
  });

  it("runs as soon as a session expires, not a minute later", async () => {
    const timed = await start({ agent: remembers, settings: idle });
    const { home, time, say, endOf } = timed;
    const session = await say("one", "two", "three");
    const owner = (await home.sessions.get(all, session))?.owner ?? "";
    await time.pass(IDLE_MINUTES * MINUTE - 1000);
    expect(await entries(timed, owner)).toEqual([]);
    for (let left = 2 * MINUTE; left > 0 && (await endOf(session)) === undefined; left -= 1000)
      await time.pass(1000);
    expect(await endOf(session)).toBe("idle");
    expect(await entries(timed, owner)).toEqual([session]);
  });

  it("does not run after the gateway has stopped", async () => {
    const timed = await start({ agent: remembers });
    await timed.room.gateway.stop();
    await markElsewhere(timed);
    await timed.time.pass(3 * MINUTE);
    expect(await entries(timed, "p_bob")).toEqual([]);
  });
});

describe("a delivery", () => {
  const notNow = { state: "not_sent", reason: "Not now." } as const;

  /** A messenger that rejects the first attempts. */
  function rejecting(times: number) {
    const attempts: number[] = [];
    const rejects = () => {
      attempts.push(Date.now());
      return attempts.length <= times ? notNow : undefined;
    };
    return { attempts, rejects };
  }

  it("that the messenger did not accept is retried after its back-off, and reaches the person once", async () => {
    const { attempts, rejects } = rejecting(1);
    const { time, say, sentSoFar, chat } = await start({ rejects });
    await say("hello");
    await time.pass(700, 50);
    expect([attempts.length, await sentSoFar()]).toEqual([1, 0]);
    await time.pass(600, 50);
    expect(await chat.texts(1)).toEqual(["You said: hello"]);
    await time.pass(2 * MINUTE);
    expect([attempts.length, await sentSoFar()]).toEqual([2, 1]);
  });

  it("is not retried after the gateway has stopped, and stays stored", async () => {
    const { attempts, rejects } = rejecting(Number.POSITIVE_INFINITY);
    const { room, home, time, say } = await start({ rejects });
    await say("hello");
    await room.gateway.stop();
    const before = attempts.length;
    await time.pass(5 * MINUTE);
    expect(attempts).toHaveLength(before);
    const waiting = await home.store.outbox.listPendingDeliveries({
      dueAt: Number.MAX_SAFE_INTEGER,
      limit: 9,
    });
    expect(waiting.map(getText)).toEqual(["You said: hello"]);
  });

  it("that another process gave back under an old number is sent with the next poll", async () => {
    const { home, time, chat } = await start();
    const other = localRunner();
    await home.store.runners.recordHeartbeat({ runner: other, now: Date.now() });
    const put = async (words: string, sendNow: boolean): Promise<number> => {
      const deliveries = [{ target: ada, parts: [textPart(words)], sendNow }];
      const stored = await home.store.outbox.enqueue({ deliveries, runner: other.id, now: Date.now() });
      return stored.deliveries[0]?.number ?? 0;
    };
    /** The other process runs, so nobody takes over its work. */
    const passBeating = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= HEARTBEAT_MS) {
        await home.store.runners.recordHeartbeat({ runner: other, now: Date.now() });
        await time.pass(Math.min(left, HEARTBEAT_MS));
      }
    };
    const old = await put("old", true);
    await put("new", false);
    await passBeating(MINUTE);
    expect(await chat.texts(0)).toEqual(["new"]);
    const outcome = { state: "waiting", nextAt: Date.now(), error: "Not now." } as const;
    await home.store.outbox.settle({ delivery: old, outcome, now: Date.now() });
    await time.pass(1000);
    expect(await chat.texts(0)).toEqual(["new", "old"]);
  });

  it("of another process is sent within seconds, although the store reports no change", async () => {
    const { home, time } = await timedHome();
    const silent = { ...home.store, onChange: () => () => {} };
    const room = await gatewayRoom({ agent: echo, home: { ...home, store: silent } });
    const deliveries = [{ target: ada, parts: [textPart("from elsewhere")] }];
    await home.store.outbox.enqueue({ deliveries, runner: "", now: Date.now() });
    await time.pass(6000);
    expect(await room.chat(ada).texts(0)).toEqual(["from elsewhere"]);
  });
});

describe("work that a crashed process left while this one runs", () => {
  const crashed = deadRunner();

  /** A message that a process accepted just before it crashed. */
  async function leave({ home }: Awaited<ReturnType<typeof start>>): Promise<void> {
    const { store, clock } = home;
    const routing = buildRouting(ada, {
      zone: "UTC",
      profile: "main",
      reset: DEFAULT_RESET,
      scope: {},
      clock,
    });
    await store.runners.recordHeartbeat({ runner: crashed, now: clock.now() });
    await store.inbox.accept({
      ...routing,
      messageId: "left",
      message: { role: "user", parts: [textPart("anybody?")] },
      claim: { runner: crashed.id, take: "one" },
    });
  }

  it("is answered within five seconds, and not before the gateway polls", async () => {
    const timed = await start();
    await timed.time.pass(5000);
    await leave(timed);
    await timed.time.pass(4000);
    expect(await timed.sentSoFar()).toBe(0);
    await timed.time.pass(1000);
    expect(await timed.chat.texts(1)).toEqual([expect.stringContaining("anybody?")]);
  });

  it("is left for the next start after the gateway has stopped", async () => {
    const timed = await start();
    await timed.room.gateway.stop();
    await leave(timed);
    await timed.time.pass(MINUTE);
    expect(await timed.sentSoFar()).toBe(0);
  });
});

describe("a running process", () => {
  it("has its new output reported after each interval, and not after the gateway has stopped", async () => {
    const { room, home, time, chat, sentSoFar } = await start();
    // Due between two heartbeats: a heartbeat makes the gateway poll, too.
    await time.pass(3000);
    const program = await runIn(home, ada, { command: "make", everyMs: 10 * MINUTE });
    await program.print("compiling");
    await time.pass(10 * MINUTE - 1000);
    expect(await sentSoFar()).toBe(0);
    await time.pass(3000);
    expect(await chat.texts(0)).toEqual([expect.stringMatching(/make.*runs for 10 min[\s\S]*compiling/)]);
    await program.print("linking");
    await room.gateway.stop();
    await time.pass(30 * MINUTE, 5000);
    expect(await sentSoFar()).toBe(1);
  });
});

describe("the gateway", () => {
  it("keeps its connection for as long as it runs", async () => {
    const { home, time } = await start();
    await time.pass(10 * MINUTE);
    expect(await home.store.runners.listLeases({ now: Date.now() })).toContainEqual(
      expect.objectContaining({ name: "platform:telegram:1", about: "connected" }),
    );
  });

  it("ends with the next heartbeat when another process has taken its connection", async () => {
    const { room, home, time } = await start({}, ["the gateway stops because of an error"]);
    const ended = room.gateway.ended.catch((error: unknown) => error);
    const other = localRunner();
    const [own] = await home.store.runners.listLeases({ now: Date.now() });
    await home.store.runners.releaseLease({ name: "platform:telegram:1", runner: own?.runner.id ?? "" });
    await home.store.runners.recordHeartbeat({ runner: other, now: Date.now() });
    await home.store.runners.acquireLease({
      name: "platform:telegram:1",
      runner: other.id,
      ttlMs: HOUR,
      now: Date.now(),
    });
    await time.pass(10_000);
    expect(await ended).toMatchObject({ code: "in_use" });
  });

  it("leaves no timer behind when it has stopped", async () => {
    const { room, home, time, say } = await start();
    await say("hello");
    await time.pass(2 * MINUTE);
    expect(vi.getTimerCount()).toBeGreaterThan(4);
    await room.gateway.stop();
    await time.pass(1000);
    await home.store.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
