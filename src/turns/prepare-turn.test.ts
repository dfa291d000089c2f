import { describe, expect, it } from "vitest";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { heldAgent, me } from "../../test/support/talking.ts";
import { HOUR } from "../../test/support/test-home.ts";
import { textPart } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import { localSource, type Source } from "../core/source.ts";
import { buildRouting, DEFAULT_RESET } from "../sessions/routing.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };

describe("what a gateway tells the model in a turn", () => {
  it("keeps the prompt the same from day to day, and has the date of each day apart from it", async () => {
    const agent = heldAgent();
    const { chat, pass } = await gatewayRoom({
      agent,
      settings: {
        zone: "Asia/Tokyo",
        reset: { ...DEFAULT_RESET, default: { ...DEFAULT_RESET.default, mode: "none" } },
      },
    });
    const told: { readonly prompt?: string; readonly volatilePrompt?: string }[] = [];
    for (const hours of [0, 4, 1, 24]) {
      await pass(hours * HOUR);
      await chat(ada).say("hello");
      const { turn, end } = await agent.asked();
      told.push(turn);
      end();
      await chat(ada).sent(told.length);
    }
    expect(told.map(({ volatilePrompt }) => volatilePrompt)).toEqual([
      "Today is Sunday, 2026-03-15 (Asia/Tokyo).",
      "Today is Sunday, 2026-03-15 (Asia/Tokyo).",
      "Today is Monday, 2026-03-16 (Asia/Tokyo).",
      "Today is Tuesday, 2026-03-17 (Asia/Tokyo).",
    ]);
    expect(new Set(told.map(({ prompt }) => prompt)).size).toBe(1);
    expect(told[0]?.prompt).not.toMatch(/2026|Sunday/);
  });

  it("has memory in the part that changes, and none where it is turned off", async () => {
    for (const enabled of [true, false]) {
      const agent = heldAgent();
      const { chat, home } = await gatewayRoom({ agent, settings: { memory: { enabled, flush: false } } });
      await chat(ada).say("hello");
      const first = await agent.asked();
      const [session] = await home.store.sessions.find({
        asker: { everyone: true },
        text: first.turn.session,
      });
      first.end();
      await chat(ada).sent(1);
      const change = { action: "add", text: "takes the night train" } as const;
      await home.store.memory.changeMemory({ owner: session?.owner ?? "", change, now: home.clock.now() });
      await chat(ada).say("and now?");
      const { turn, end } = await agent.asked();
      expect(turn.prompt).toBe(first.turn.prompt);
      expect(turn.volatilePrompt?.includes("- takes the night train")).toBe(enabled);
      end();
    }
  });

  it("tells it in a turn of the terminal, too, which waited in the session of a chat", async () => {
    const agent = heldAgent();
    const { chat, home } = await gatewayRoom({
      agent,
      settings: { busy: "queue", instructions: "Be brief." },
    });
    const { store, sessions, clock } = home;
    await store.access.linkAccount({
      account: { platform: "telegram", userId: "1" },
      person: OWNER,
      now: clock.now(),
    });
    await chat(ada).say("hello");
    const first = await agent.asked();
    const settings = { zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {}, clock };
    const { conversation } = await sessions.open(localSource());
    await sessions.switchTo(me, conversation.number, first.turn.session);
    await store.inbox.accept({
      ...buildRouting(localSource(), settings),
      messageId: "at the terminal",
      message: { role: "user", parts: [textPart("and here?")] },
    });
    first.end();
    const { turn, end } = await agent.asked();
    expect(turn.session).toBe(first.turn.session);
    expect(turn.prompt).toMatch(/^Be brief\.\n\n[\s\S]*\*\*Source:\*\* Local/);
    expect(turn.volatilePrompt).toBe("Today is Sunday, 2026-03-15 (UTC).");
    expect(turn.tools).toBeUndefined();
    end();
  });
});
