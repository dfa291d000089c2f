import { describe, expect, it } from "vitest";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { echo } from "../agents/echo.ts";
import { text } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import { openHome } from "../sessions/test-home.ts";

const HOUR = 3_600_000;
const chatOf = (n: number): Source => ({
  platform: "telegram",
  chatType: "dm",
  chatId: `${n}`,
  userId: `${n}`,
});

describe("what was left to be sent", () => {
  it("is all sent after a start, also behind many that have to wait", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const old = { target: chatOf(0), parts: [text("later")], begun: true };
    const begun = await store.enqueue({
      deliveries: Array.from({ length: 700 }, (_, n) => ({ ...old, target: chatOf(n) })),
      runner: "r1",
      now: clock.now(),
    });
    const outcome = { state: "waiting", nextAt: clock.now() + HOUR, error: "Too many requests." } as const;
    await Promise.all(
      begun.deliveries.map(({ number }) => store.settle({ delivery: number, outcome, now: clock.now() })),
    );
    await store.enqueue({
      deliveries: [{ target: chatOf(1000), parts: [text("now")] }],
      runner: "r1",
      now: clock.now(),
    });
    const room = await gatewayRoom({ agent: echo, home });
    expect(await room.chat(chatOf(1000)).texts(1)).toEqual(["now"]);
  });

  it("comes in its order, what was being sent when the process fell before what waits behind it", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const say = (words: string) => ({ target: chatOf(1), parts: [text(words)] });
    await store.enqueue({
      deliveries: [{ ...say("one"), begun: true }, say("two"), say("three")],
      runner: "gone",
      now: clock.now(),
    });
    const room = await gatewayRoom({ agent: echo, home });
    const [first = "", ...more] = await room.chat(chatOf(1)).texts(3);
    expect(first).toContain("one");
    expect(more).toEqual(["two", "three"]);
  });

  it("is sent soon when another process stores it, while this one sends its own", async () => {
    const home = await openHome();
    const room = await gatewayRoom({ agent: echo, home });
    const chat = room.chat(chatOf(1));
    for (const words of ["a", "b", "c"]) {
      await chat.say(words);
      const another = [{ target: chatOf(2), parts: [text(`after ${words}`)] }];
      await home.store.enqueue({ deliveries: another, runner: "another", now: home.clock.now() });
    }
    expect(await room.chat(chatOf(2)).texts(3)).toEqual(["after a", "after b", "after c"]);
  });
});
