import { describe, expect, it } from "vitest";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { heldAgent, me } from "../../test/support/talking.ts";
import { HOUR, openHome } from "../../test/support/test-home.ts";
import { textPart } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import { localSource, type Source } from "../core/source.ts";
import type { Turn } from "../core/turn.ts";
import { getDefaultSettings } from "../gateway/gateway-options.ts";
import { buildRouting, DEFAULT_RESET } from "../sessions/routing.ts";
import { maskTools } from "../tools/create-tools.ts";
import { defineTool } from "../tools/define-tool.ts";
import { prepareTurn } from "./prepare-turn.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };

describe("the prompt of a turn", () => {
  it("stays the same from day to day, and the date is in the volatile prompt", async () => {
    const agent = heldAgent();
    const { chat, pass } = await gatewayRoom({
      agent,
      settings: {
        zone: "Asia/Tokyo",
        reset: { ...DEFAULT_RESET, default: { ...DEFAULT_RESET.default, mode: "none" } },
      },
    });
    const turns: { readonly prompt?: string; readonly volatilePrompt?: string }[] = [];
    for (const hours of [0, 4, 1, 24]) {
      await pass(hours * HOUR);
      await chat(ada).say("hello");
      const { turn, end } = await agent.asked();
      turns.push(turn);
      end();
      await chat(ada).sent(turns.length);
    }
    expect(turns.map(({ volatilePrompt }) => volatilePrompt)).toEqual([
      "Today is Sunday, 2026-03-15 (Asia/Tokyo).",
      "Today is Sunday, 2026-03-15 (Asia/Tokyo).",
      "Today is Monday, 2026-03-16 (Asia/Tokyo).",
      "Today is Tuesday, 2026-03-17 (Asia/Tokyo).",
    ]);
    expect(new Set(turns.map(({ prompt }) => prompt)).size).toBe(1);
    expect(turns[0]?.prompt).not.toMatch(/2026|Sunday/);
  });

  it("has the memory in the volatile prompt, and none where the memory is disabled", async () => {
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

  it("is complete in a turn of the terminal that a gateway runs", async () => {
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

describe("tools of plugins and applications", () => {
  const audiences = ["owner", "everyone"] as const;
  const tools = audiences.map((audience) =>
    defineTool({
      name: `for_${audience}`,
      description: "",
      input: { type: "object" },
      audience,
      run: () => "the key is hunter2-hunter2",
    }),
  );
  const group: Source = { ...ada, chatType: "group", chatId: "-5" };

  it.each([
    ["the owner in a direct chat", "owner", ada, ["for_owner", "for_everyone"]],
    ["the owner in a group", "owner", group, ["for_everyone"]],
    ["a member", "member", ada, ["for_everyone"]],
  ] as const)("are offered by their audience: %s", async (_, role, target, expected) => {
    const { store, clock } = await openHome();
    const opened = await store.conversations.open(
      buildRouting(target, { clock, zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {} }),
    );
    const turn = { session: opened.session.id, target, settings: {} } as Turn;
    const context = { store, clock, settings: getDefaultSettings(), platforms: [], customTools: tools };
    const asking = { asker: { person: OWNER }, role, chatType: target.chatType };
    const prepared = await prepareTurn(context, turn, asking);
    expect(prepared.tools?.map(({ name }) => name)).toEqual(expected);
    // A turn that runs outside of the chat of its message has no tools.
    expect((await prepareTurn(context, turn)).tools).toBeUndefined();
  });

  it("mask the secrets of the home in their output", () => {
    const [tool] = maskTools(tools, ["hunter2-hunter2"]);
    const call = { id: "c", signal: new AbortController().signal };
    return expect(tool?.run({}, call)).resolves.not.toMatchObject({
      parts: [{ text: expect.stringContaining("hunter2-hunter2") }],
    });
  });
});
