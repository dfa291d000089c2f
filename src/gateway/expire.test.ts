import { describe, expect, it } from "vitest";
import { type MessengerRoom, messengerRoom, telegram } from "../../test/support/messenger-room.ts";
import { DAY, HOUR, type Home, MINUTE, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { DEFAULT_RESET_POLICY, NO_RESET, type ResetPolicy } from "../core/reset-policy.ts";
import { DEFAULT_TOOLS } from "../core/tool-settings.ts";
import { type ExpireContext, expireConversations } from "./expire.ts";
import type { HookContext, HookEvent } from "./hooks.ts";

type Emitted = readonly [event: HookEvent, context: HookContext];

const idle: ResetPolicy = { ...DEFAULT_RESET_POLICY, mode: "idle", idleMinutes: 60 };
const all = { everyone: true } as const;

/** A home whose conversations expire, with hooks that a test controls. */
async function openExpiry(policy: ResetPolicy = idle, hook: (emitted: Emitted) => unknown = () => {}) {
  const home = await openHome();
  const emitted: Emitted[] = [];
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
        emitted.push([event, context]);
        await hook([event, context]);
      },
    },
  };
  return { home, here, flow, emitted };
}

async function talk({ ask }: MessengerRoom, ...words: readonly string[]): Promise<string> {
  let session = "";
  for (const each of words) session = (await ask(each)).session.id;
  return session;
}

const readEndReason = async ({ sessions }: Home, session: string) =>
  (await sessions.get(all, session))?.endReason;
const listEvents = (emitted: readonly Emitted[]) => emitted.map(([event, { session }]) => [event, session]);

describe("a conversation that expires", () => {
  it("ends without a further message, and its flush is requested first", async () => {
    const { home, here, flow, emitted } = await openExpiry();
    const old = await talk(here, "one", "two");
    home.clock.pass(2 * HOUR);
    const recent = await talk(await here.at({ ...telegram, chatId: "43" }, "member"), "three", "four");
    expect(await expireConversations(flow)).toBe(1);
    expect(listEvents(emitted)).toEqual([
      ["session:flush", old],
      ["session:end", old],
    ]);
    expect(emitted[1]?.[1]).toMatchObject({ platform: "telegram", reason: "idle", key: expect.any(String) });
    expect([await readEndReason(home, old), await readEndReason(home, recent)]).toEqual(["idle", undefined]);
    expect(await expireConversations(flow)).toBe(0);
    expect(emitted).toHaveLength(2);
  });

  it.each([
    ["idle, after two hours", idle, 2 * HOUR, true],
    ["idle, after ten minutes", idle, 10 * MINUTE, false],
    ["daily, after two days", { ...DEFAULT_RESET_POLICY, mode: "daily" }, 2 * DAY, true],
    ["none, after a month", NO_RESET, 30 * DAY, false],
  ] as const)("%s", async (_, policy, silence, isEnded) => {
    const { home, here, flow } = await openExpiry(policy);
    const session = await talk(here, "hello");
    home.clock.pass(silence);
    expect(await expireConversations(flow)).toBe(isEnded ? 1 : 0);
    expect((await readEndReason(home, session)) !== undefined).toBe(isEnded);
  });

  it("is never a thread of an editor, however long it has no message", async () => {
    const { home, flow } = await openExpiry();
    const source = { platform: "acp", chatId: "thread", chatType: "dm" };
    const { session } = await home.sessions.open(source, { kind: "editor" });
    await home.sessions.append(all, session.id, { role: "user", text: "hello" });
    home.clock.pass(30 * DAY);
    expect(await expireConversations(flow)).toBe(0);
    expect((await home.sessions.open(source)).session.id).toBe(session.id);
  });

  it("stays open while its session is held", async () => {
    const { home, here, flow } = await openExpiry();
    const session = await talk(here, "hello");
    home.clock.pass(2 * HOUR);
    await home.sessions.hold(all, session, "a process runs", HOUR);
    expect(await expireConversations(flow)).toBe(0);
    await home.sessions.release(all, session, "a process runs");
    expect(await expireConversations(flow)).toBe(1);
  });

  it("requests its flush once, also when the process ended before the conversation did", async () => {
    const { home, here, flow, emitted } = await openExpiry();
    const session = await talk(here, "one", "two");
    home.clock.pass(2 * HOUR);
    expect(await home.store.memory.requestFlush({ session, now: home.clock.now() })).toBe(true);
    await home.restart();
    const store = (await home.again()).store;
    expect(await expireConversations({ ...flow, store })).toBe(1);
    expect(listEvents(emitted)).toEqual([["session:end", session]]);
  });

  it("requests no flush for a short session", async () => {
    const { home, here, flow, emitted } = await openExpiry();
    const session = await talk(here, "hello");
    home.clock.pass(2 * HOUR);
    await expireConversations(flow);
    expect(listEvents(emitted)).toEqual([["session:end", session]]);
  });

  it("stays open when a person writes while the flush hooks run", async () => {
    const speaking = Promise.withResolvers<MessengerRoom>();
    let next = "";
    const { home, here, flow } = await openExpiry(idle, async ([event]) => {
      if (event === "session:flush") next = await talk(await speaking.promise, "I am back");
    });
    speaking.resolve(here);
    const old = await talk(here, "one", "two");
    home.clock.pass(2 * HOUR);
    expect(await expireConversations(flow)).toBe(0);
    expect([await readEndReason(home, old), await readEndReason(home, next)]).toEqual(["idle", undefined]);
    expect((await (await here.place()).chat.findCurrent())?.session.id).toBe(next);
  });

  it("does not wait for the slow hook of another", async () => {
    const slow = Promise.withResolvers<void>();
    const others = Promise.withResolvers<void>();
    let first = "";
    let ended = 0;
    const { home, here, flow } = await openExpiry(idle, ([event, { session }]) => {
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
