import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listeners } from "../../test/support/listeners.ts";
import { heldAgent } from "../../test/support/talking.ts";
import { type Home, openHome } from "../../test/support/test-home.ts";
import { wrapStore } from "../../test/support/wrap-store.ts";
import { echo } from "../agents/echo.ts";
import type { GatewaySettings } from "../core/gateway-settings.ts";
import { getText, textPart } from "../core/message.ts";
import { SYSTEM } from "../core/owner.ts";
import { platformTraits } from "../core/platforms.ts";
import type { Agent } from "../ports/agent.ts";
import type { Platform, Receiver } from "../ports/platform.ts";
import { awaitChange } from "../sessions/await-change.ts";
import { buildRouting, DEFAULT_RESET } from "../sessions/routing.ts";
import { localRunner } from "../system/local-runner.ts";
import { type Gateway, startGateway } from "./gateway.ts";

/** What all gateways of a test send, and who is connected. */
interface Messenger {
  readonly sent: (readonly [gateway: string, platform: string, text: string])[];
  readonly connected: Map<string, { readonly gateway: string; readonly receiver: Receiver }>;
  until<Found>(find: () => Found | undefined): Promise<Found>;
  platform(gateway: string, name: "telegram" | "discord"): Platform;
}

function messenger(): Messenger {
  const changes = listeners();
  const sent: Messenger["sent"] = [];
  const connected: Messenger["connected"] = new Map();
  return {
    sent,
    connected,
    until: changes.until,
    platform: (gateway, name) => ({
      name,
      account: "1",
      traits: platformTraits(name),
      run: (receiver, signal) =>
        new Promise((resolve) => {
          connected.set(name, { gateway, receiver });
          receiver.markConnected();
          changes.tell();
          signal.addEventListener("abort", () => {
            connected.delete(name);
            resolve();
          });
        }),
      async send({ parts }) {
        sent.push([gateway, name, getText({ parts })]);
        changes.tell();
        return { state: "sent", messageId: `bot-${sent.length}` };
      },
    }),
  };
}

/** Options of one gateway of a test. */
interface Started {
  readonly platforms?: readonly ("telegram" | "discord")[];
  readonly agent?: Agent;
  readonly settings?: Partial<GatewaySettings>;
  readonly worker?: boolean;
}

async function start(home: Home, room: Messenger, name: string, options: Started = {}): Promise<Gateway> {
  const { store, clock } = home;
  const { platforms = ["telegram"], agent = echo, settings, worker = false } = options;
  const gateway = await startGateway({
    store,
    clock,
    runner: localRunner(),
    ...(worker ? { worker } : { standby: true }),
    platforms: platforms.map((platform) => room.platform(name, platform)),
    settings: { access: { everywhere: { allowAll: true }, platforms: {} }, streaming: false, ...settings },
    agent,
  });
  onTestFinished(() => gateway.stop());
  return gateway;
}

let ids = 0;

async function say(room: Messenger, words: string, chatId = "1"): Promise<void> {
  ids += 1;
  await room.connected.get("telegram")?.receiver.receiveMessage({
    source: { platform: "telegram", chatType: "dm", chatId, userId: chatId },
    messageId: String(ids),
    message: { role: "user", parts: [textPart(words)] },
  });
}

describe("two gateways in standby on one store", () => {
  it("have one connection to a platform: the second takes over when the first stops", async () => {
    const home = await openHome();
    const room = messenger();
    const first = await start(home, room, "a");
    await room.until(() => room.connected.get("telegram"));
    await start(home, room, "b");
    await say(room, "one");
    await room.until(() => room.sent[0]);
    expect(room.connected.get("telegram")?.gateway).toBe("a");
    await first.stop();
    await room.until(() => room.connected.get("telegram"));
    await say(room, "two");
    await room.until(() => room.sent[1]);
    expect(room.sent).toEqual([
      ["a", "telegram", "You said: one"],
      ["b", "telegram", "You said: two (before that: one)"],
    ]);
  });

  it("share the platforms", async () => {
    const home = await openHome();
    const room = messenger();
    await Promise.all(
      ["a", "b"].map((name) => start(home, room, name, { platforms: ["telegram", "discord"] })),
    );
    await room.until(() => (room.connected.size === 2 ? true : undefined));
    expect(new Set([...room.connected.values()].map(({ gateway }) => gateway))).toEqual(new Set(["a", "b"]));
  });

  it("end when another one took their connection over, and retire", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const room = messenger();
    const first = await start(home, room, "a");
    await room.until(() => room.connected.get("telegram"));
    const [lease] = await store.runners.listLeases({ now: clock.now() });
    const other = localRunner();
    await store.runners.recordHeartbeat({ runner: other, now: clock.now() });
    await store.runners.releaseLease({ name: "platform:telegram:1", runner: lease?.runner.id ?? "" });
    const taken = { name: "platform:telegram:1", runner: other.id, ttlMs: 60_000, now: clock.now() };
    expect(await store.runners.acquireLease(taken)).toBeDefined();
    room.connected.get("telegram")?.receiver.markConnected();
    await expect(first.ended).rejects.toMatchObject({ code: "in_use" });
    expect((await store.runners.listLeases({ now: clock.now() })).map(({ runner }) => runner.id)).toEqual([
      other.id,
    ]);
  });
});

it("a gateway whose store fails while it takes a connection over receives from it later", async () => {
  const home = await openHome();
  const room = messenger();
  let failures = 1;
  const failing = wrapStore(home.store, ({ name, run }) => {
    if (name !== "listOrphanedDeliveries" || failures === 0) return run();
    failures -= 1;
    return Promise.reject(new Error("the database is away"));
  });
  await start({ ...home, store: failing }, room, "a");
  await room.until(() => room.connected.get("telegram"));
  await say(room, "hello");
  await room.until(() => room.sent[0]);
  expect(failures).toBe(0);
});

it("a gateway whose store fails while it stops keeps no connection from the others", async () => {
  const home = await openHome();
  const { store, clock } = home;
  const room = messenger();
  let isAway = false;
  const failing = wrapStore(store, ({ name, run }) =>
    isAway && name === "releaseLease" ? Promise.reject(new Error("the database is away")) : run(),
  );
  const first = await startGateway({
    store: failing,
    clock,
    runner: localRunner(),
    standby: true,
    platforms: [room.platform("a", "telegram"), room.platform("a", "discord")],
    agent: echo,
  });
  await room.until(() => (room.connected.size === 2 ? true : undefined));
  isAway = true;
  await expect(first.stop()).rejects.toThrow("the database is away");
  expect(await store.runners.listLeases({ now: clock.now() })).toEqual([]);
});

/** Without the periodic look for work: only changes of the store drive a gateway. */
function stopIntervals(): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
}

describe("a gateway with a limit of turns", () => {
  it("answers a message that waited for room when another answer has ended", async () => {
    const home = await openHome();
    const room = messenger();
    const agent = heldAgent();
    stopIntervals();
    await start(home, room, "a", { agent, settings: { maxTurns: 1 } });
    await room.until(() => room.connected.get("telegram"));
    await say(room, "first");
    const first = await agent.asked();
    await say(room, "second", "2");
    await say(room, "third", "3");
    expect(await home.store.inbox.listPending({ asker: SYSTEM, session: first.turn.session })).toEqual([]);
    for (const answer of [first, agent.asked(), agent.asked()]) {
      const held = await answer;
      await held.say(`To ${getText(held.turn.history.at(-1) ?? { parts: [] })}.`);
      held.end();
    }
    await room.until(() => room.sent[2]);
    expect(new Set(room.sent.map(([, , text]) => text))).toEqual(
      new Set(["To first.", "To second.", "To third."]),
    );
  });
});

/** A gateway that runs no turn, and a worker that runs all. */
async function withWorker() {
  const home = await openHome();
  const room = messenger();
  const agent = heldAgent();
  await start(home, room, "gateway", { settings: { maxTurns: 0 } });
  await room.until(() => room.connected.get("telegram"));
  const worker = await start(home, room, "worker", { agent, worker: true });
  return { home, room, agent, worker };
}

describe("a worker", () => {
  it("runs the turns for which the gateway has no room, and the gateway sends the answers", async () => {
    const { room, agent } = await withWorker();
    await say(room, "hello");
    const answer = await agent.asked();
    await answer.say("From the worker.");
    answer.end();
    await room.until(() => room.sent[0]);
    expect(room.sent).toEqual([["gateway", "telegram", "From the worker."]]);
  });

  it("stops its turn after /stop in the chat, and /status there says that it answers", async () => {
    const { room, agent } = await withWorker();
    await say(room, "hello");
    const answer = await agent.asked();
    await say(room, "/status");
    const [, , status] = await room.until(() => room.sent[0]);
    expect(status).toContain("answering");
    await say(room, "/stop");
    const [, , stopped] = await room.until(() => room.sent[1]);
    expect(stopped).toMatch(/^Stopped/);
    await say(room, "again");
    const next = await agent.asked();
    expect(answer.signal.aborted).toBe(true);
    expect(next.turn.history.map(getText)).toContain("again");
    next.end();
  });

  it("is interrupted by the next message of the chat", async () => {
    const { room, agent } = await withWorker();
    await say(room, "first");
    const first = await agent.asked();
    await first.say("Once ");
    await say(room, "second");
    const second = await agent.asked();
    expect(first.signal.aborted).toBe(true);
    expect(second.turn.history.map(getText)).toEqual(["first", "Once ", "second"]);
    second.end();
  });
});

describe("a gateway that is asked to drain", () => {
  it("hands its connection over at once, finishes its answer, which the other sends, and ends", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const room = messenger();
    const agent = heldAgent();
    const first = await start(home, room, "a", { agent });
    await room.until(() => room.connected.get("telegram"));
    await start(home, room, "b");
    await say(room, "hello");
    const answer = await agent.asked();
    await answer.say("Half ");
    const [lease] = await store.runners.listLeases({ now: clock.now() });
    expect(await store.runners.requestDrain({ runner: lease?.runner.id ?? "", now: clock.now() })).toBe(true);
    await room.until(() => (room.connected.get("telegram")?.gateway === "b" ? true : undefined));
    expect(answer.signal.aborted).toBe(false);
    await answer.say("done.");
    answer.end();
    await first.ended;
    await room.until(() => room.sent[0]);
    expect(room.sent).toEqual([["b", "telegram", "Half done."]]);
  });

  it("claims no crashed turn any more while it finishes its answer", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const room = messenger();
    const agent = heldAgent();
    stopIntervals();
    const gateway = await start(home, room, "a", { agent });
    await room.until(() => room.connected.get("telegram"));
    await say(room, "hello");
    const answer = await agent.asked();
    const [lease] = await store.runners.listLeases({ now: clock.now() });
    await store.runners.requestDrain({ runner: lease?.runner.id ?? "", now: clock.now() });
    while ((await store.runners.listLeases({ now: clock.now() })).length > 0)
      await awaitChange(store, new AbortController().signal).happened;
    const source = { platform: "telegram", chatType: "dm", chatId: "2", userId: "2" } as const;
    const settings = { zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {}, clock };
    const message = { role: "user", parts: [textPart("anybody?")] } as const;
    await store.inbox.accept({ ...buildRouting(source, settings), messageId: "crashed", message });
    await vi.advanceTimersByTimeAsync(10_000);
    for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
    expect(await store.turns.listClaimable({ now: clock.now() })).toHaveLength(1);
    answer.end();
    await gateway.ended;
  });
});
