import { beforeEach, describe, expect, it, vi } from "vitest";
import { look } from "../../test/support/database.ts";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { runIn } from "../../test/support/running.ts";
import { deadRunner } from "../../test/support/talking.ts";
import { type Home, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { textPart } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import { buildRouting, DEFAULT_RESET } from "../sessions/routing.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };

// No interval ends, so nothing in these tests waits for a timer.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  return () => vi.useRealTimers();
});

/** A message that a process accepted just before it crashed. */
async function leaveMessage({ store, clock }: Home): Promise<void> {
  const runner = deadRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  await store.inbox.accept({
    ...buildRouting(ada, { zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {}, clock }),
    messageId: "left",
    message: { role: "user", parts: [textPart("anybody?")] },
    claim: { runner: runner.id, take: "one" },
  });
}

describe("a gateway does not wait for its timers", () => {
  it("to answer a message that a crashed process left before the start", async () => {
    const home = await openHome();
    await leaveMessage(home);
    const { chat } = await gatewayRoom({ agent: echo, home });
    expect(await chat(ada).texts(1)).toEqual([expect.stringContaining("anybody?")]);
  });

  it("to send a delivery that another process stores", async () => {
    const { home, chat } = await gatewayRoom({ agent: echo });
    const deliveries = [{ target: ada, parts: [textPart("You are let in.")] }];
    await home.store.outbox.enqueue({ deliveries, runner: "", now: home.clock.now() });
    expect(await chat(ada).texts(1)).toEqual(["You are let in."]);
  });

  it("to report the end of a process to its chat", async () => {
    const { home, chat } = await gatewayRoom({ agent: echo });
    const program = await runIn(home, ada, { mode: "result", command: "make" });
    await program.end();
    expect(await chat(ada).texts(1)).toEqual([expect.stringContaining("`make`")]);
  });
});

describe("a gateway that lost its connection to another process", () => {
  it("sends nothing more, and ends; the next gateway sends the answer", async () => {
    const home = await openHome();
    let isLost = false;
    const store: Home["store"] = {
      ...home.store,
      runners: {
        ...home.store.runners,
        acquireLease: async (wanted) => (isLost ? undefined : home.store.runners.acquireLease(wanted)),
      },
    };
    const room = await gatewayRoom({ agent: echo, home: { ...home, store } });
    isLost = true;
    home.clock.pass(60_000);
    await room.chat(ada).say("hello");
    await room.untilTold("agent:end");
    for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
    expect(await room.chat(ada).texts(0)).toEqual([]);
    room.receiver.markConnected();
    await expect(room.gateway.ended).rejects.toMatchObject({ code: "in_use" });
    expect(await room.chat(ada).texts(0)).toEqual([]);
    const next = await gatewayRoom({ agent: echo, home });
    expect(await next.chat(ada).texts(1)).toEqual([expect.stringContaining("You said: hello")]);
  });
});

describe("a gateway that has stopped", () => {
  it("leaves no runner that others would treat as crashed", async () => {
    const { home, gateway } = await gatewayRoom({ agent: echo });
    const runners = (): unknown =>
      look(home.file, (db) => db.prepare("select count(*) from runners").pluck().get());
    expect(runners()).toBe(1);
    await gateway.stop();
    expect(runners()).toBe(0);
  });
});
