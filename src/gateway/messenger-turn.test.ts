import { describe, expect, it, vi } from "vitest";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { heldAgent } from "../../test/support/talking.ts";
import { getText } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Agent } from "../ports/agent.ts";

const group: Source = {
  platform: "telegram",
  chatType: "group",
  chatId: "-100",
  userId: "4711",
  userName: "Ada",
};

const ada: Source = { ...group, chatType: "dm", chatId: "4711" };

describe("a turn in a conversation that several people share", () => {
  it.each([
    ["strict", { redactPii: "strict", homeKey: "ab".repeat(16) } as const, /^\[user_[0-9a-f]{12}\] hello$/],
    ["off", { redactPii: false } as const, /^\[Ada\] hello$/],
  ])("names the author to the model according to the redaction: %s", async (_, privacy, shown) => {
    const agent = heldAgent();
    const { chat } = await gatewayRoom({ agent, settings: { scope: { groupsPerUser: false }, privacy } });
    await chat(group).say("hello");
    const asked = await agent.asked();
    expect(asked.turn.history.map(getText)).toEqual([expect.stringMatching(shown)]);
    asked.end();
  });
});

describe("a session in a messenger", () => {
  it("gets a title from its agent after the first answer", async () => {
    const agent: Agent = {
      name: "titling",
      canTitle: true,
      async *run({ history }) {
        const isForTitle = getText(history.at(-1) ?? { parts: [] }).startsWith("Write a title");
        yield { type: "text", text: isForTitle ? "A walk in the park" : "Good." };
      },
    };
    const { chat, home } = await gatewayRoom({ agent });
    await chat(ada).say("hello");
    await chat(ada).texts(1);
    const titles = async () => (await home.sessions.list({ everyone: true })).items.map(({ title }) => title);
    await vi.waitFor(async () => expect(await titles()).toEqual(["A walk in the park"]));
  });
});
