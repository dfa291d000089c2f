import { describe, expect, it } from "vitest";
import { type MessengerRoom, messengerRoom, telegram } from "../../test/support/messenger-room.ts";
import { DAY, HOUR, type Home, MINUTE, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { DEFAULT_RESET_POLICY, NO_RESET, type ResetPolicy } from "../core/reset-policy.ts";
import { DEFAULT_TOOLS } from "../core/tool-settings.ts";
import { type ExpireContext, expireConversations } from "./expire.ts";
import type { HookContext, HookEvent } from "./hooks.ts";

type Told = readonly [event: HookEvent, context: HookContext];

const idle: ResetPolicy = { ...DEFAULT_RESET_POLICY, mode: "idle", idleMinutes: 60 };
const all = { everyone: true } as const;

/** A home with an expiry whose hooks a test holds in its hand. */
async function watched(policy: ResetPolicy = idle, hook: (told: Told) => unknown = () => {}) {
  const home = await openHome();
  const told: Told[] = [];
  const nothing = (): void => {};
  const reset = { default: policy, byType: {}, byPlatform: {} };
  const here: MessengerRoom = await messengerRoom(home, echo, { role: "member", settings: { reset } });
  const settings = {
    ...{ zone: "UTC", profile: "main", reset, scope: {}, privacy: {}, busy: "queue" as const },
    ...{ access: { everywhere: {}, platforms: {} }, maxPending: 9, turnMinutes: 9, streaming: false },
    ...{ personalities: {}, homes: [], tools: DEFAULT_TOOLS, memory: { enabled: true, flush: true } },
  };
  const flow: ExpireContext = {
    store: home.store,
    clock: home.clock,
    settings: () => settings,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    signal: new AbortController().signal,
    hooks: {
      async emit(event, context) {
        told.push([event, context]);
        await hook([event, context]);
      },
    },
  };
  return { home, here, flow, told };
}

async function talk({ ask }: MessengerRoom, ...words: readonly string[]): Promise<string> {
  let session = "";
  for (const each of words) session = (await ask(each)).session.id;
  return session;
}

const endOf = async ({ sessions }: Home, session: string) => (await sessions.get(all, session))?.endReason;
const events = (told: readonly Told[]) => told.map(([event, { session }]) => [event, session]);

describe("a conversation whose time has come", () => {
  it("is ended by itself, before anyone speaks again, and the memory is told first", async () => {
    const { home, here, flow, told } = await watched();
    const old = await talk(here, "one", "two");
    home.clock.pass(2 * HOUR);
    const recent = await talk(await here.at({ ...telegram, chatId: "43" }, "member"), "three", "four");
    expect(await expireConversations(flow)).toBe(1);
    expect(events(told)).toEqual([
      ["session:flush", old],
      ["session:end", old],
    ]);
    expect(told[1]?.[1]).toMatchObject({ platform: "telegram", reason: "idle", key: expect.any(String) });
    expect([await endOf(home, old), await endOf(home, recent)]).toEqual(["idle", undefined]);
    expect(await expireConversations(flow)).toBe(0);
    expect(told).toHaveLength(2);
  });

  it.each([
    ["idle, after two hours", idle, 2 * HOUR, true],
    ["idle, after ten minutes", idle, 10 * MINUTE, false],
    ["daily, after two days", { ...DEFAULT_RESET_POLICY, mode: "daily" }, 2 * DAY, true],
    ["none, after a month", NO_RESET, 30 * DAY, false],
  ] as const)("%s", async (_, policy, silence, isEnded) => {
    const { home, here, flow } = await watched(policy);
    const session = await talk(here, "hello");
    home.clock.pass(silence);
    expect(await expireConversations(flow)).toBe(isEnded ? 1 : 0);
    expect((await endOf(home, session)) !== undefined).toBe(isEnded);
  });

  it("is not an editor's: a thread stays what it is, however long nobody speaks in it", async () => {
    const { home, flow } = await watched();
    const source = { platform: "acp", chatId: "thread", chatType: "dm" };
    const { session } = await home.sessions.open(source, { kind: "editor" });
    await home.sessions.append(all, session.id, { role: "user", text: "hello" });
    home.clock.pass(30 * DAY);
    expect(await expireConversations(flow)).toBe(0);
    expect((await home.sessions.open(source)).session.id).toBe(session.id);
  });

  it("waits while work in it is held", async () => {
    const { home, here, flow } = await watched();
    const session = await talk(here, "hello");
    home.clock.pass(2 * HOUR);
    await home.sessions.hold(all, session, "a process runs", HOUR);
    expect(await expireConversations(flow)).toBe(0);
    await home.sessions.release(all, session, "a process runs");
    expect(await expireConversations(flow)).toBe(1);
  });

  it("has its memory told once, also when the process ended before the rest was done", async () => {
    const { home, here, flow, told } = await watched();
    const session = await talk(here, "one", "two");
    home.clock.pass(2 * HOUR);
    expect(await home.store.memory.requestFlush({ session, now: home.clock.now() })).toBe(true);
    await home.restart();
    const store = (await home.again()).store;
    expect(await expireConversations({ ...flow, store })).toBe(1);
    expect(events(told)).toEqual([["session:end", session]]);
  });

  it("has nothing to remember of a few words", async () => {
    const { home, here, flow, told } = await watched();
    const session = await talk(here, "hello");
    home.clock.pass(2 * HOUR);
    await expireConversations(flow);
    expect(events(told)).toEqual([["session:end", session]]);
  });

  it("is left alone when somebody speaks while its memory is told", async () => {
    const speaking = Promise.withResolvers<MessengerRoom>();
    let next = "";
    const { home, here, flow } = await watched(idle, async ([event]) => {
      if (event === "session:flush") next = await talk(await speaking.promise, "I am back");
    });
    speaking.resolve(here);
    const old = await talk(here, "one", "two");
    home.clock.pass(2 * HOUR);
    expect(await expireConversations(flow)).toBe(0);
    expect([await endOf(home, old), await endOf(home, next)]).toEqual(["idle", undefined]);
    expect((await (await here.place()).chat.findCurrent())?.session.id).toBe(next);
  });

  it("does not wait for another whose hook takes its time", async () => {
    const slow = Promise.withResolvers<void>();
    const others = Promise.withResolvers<void>();
    let first = "";
    let ended = 0;
    const { home, here, flow } = await watched(idle, ([event, { session }]) => {
      if (event === "session:flush" && session === first) return slow.promise;
      if (event === "session:end") ended += 1;
      if (ended === 3) others.resolve();
      return undefined;
    });
    first = await talk(here, "one", "two");
    for (const chatId of ["43", "44", "45"])
      await talk(await here.at({ ...telegram, chatId }, "member"), "one", "two");
    home.clock.pass(2 * HOUR);
    const expiring = expireConversations(flow);
    await others.promise;
    slow.resolve();
    expect(await expiring).toBe(4);
  });
});
