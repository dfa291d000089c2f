import { describe, expect, it, onTestFinished } from "vitest";
import { listeners } from "../../test/support/listeners.ts";
import { type Home, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { getText, textPart } from "../core/message.ts";
import { platformTraits } from "../core/platforms.ts";
import type { Platform, Receiver } from "../ports/platform.ts";
import { localRunner } from "../system/local-runner.ts";
import { startGateway } from "./gateway.ts";

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

async function start(
  home: Home,
  room: Messenger,
  name: string,
  platforms: readonly ("telegram" | "discord")[],
) {
  const { store, clock } = home;
  const gateway = await startGateway({
    store,
    clock,
    runner: localRunner(),
    standby: true,
    platforms: platforms.map((platform) => room.platform(name, platform)),
    settings: { access: { everywhere: { allowAll: true }, platforms: {} }, streaming: false },
    agent: echo,
  });
  onTestFinished(() => gateway.stop());
  return gateway;
}

let ids = 0;

async function say(room: Messenger, words: string): Promise<void> {
  ids += 1;
  await room.connected.get("telegram")?.receiver.receiveMessage({
    source: { platform: "telegram", chatType: "dm", chatId: "1", userId: "1" },
    messageId: String(ids),
    message: { role: "user", parts: [textPart(words)] },
  });
}

describe("two gateways in standby on one store", () => {
  it("have one connection to a platform: the second takes over when the first stops", async () => {
    const home = await openHome();
    const room = messenger();
    const first = await start(home, room, "a", ["telegram"]);
    await room.until(() => room.connected.get("telegram"));
    await start(home, room, "b", ["telegram"]);
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
    await Promise.all(["a", "b"].map((name) => start(home, room, name, ["telegram", "discord"])));
    await room.until(() => (room.connected.size === 2 ? true : undefined));
    expect(new Set([...room.connected.values()].map(({ gateway }) => gateway))).toEqual(new Set(["a", "b"]));
  });

  it("end when another one took their connection over, and retire", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const room = messenger();
    const first = await start(home, room, "a", ["telegram"]);
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
