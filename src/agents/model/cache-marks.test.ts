import { describe, expect, it } from "vitest";
import { modelServer } from "../../../test/support/model-server.ts";
import { anthropicAnswer, providerServer, textBlock } from "../../../test/support/provider-server.ts";
import { type Message, textPart } from "../../core/message.ts";
import type { AgentTurn } from "../../ports/agent.ts";
import type { Tool } from "../../ports/tool.ts";
import { model } from "./model.ts";
import type { ModelChoice } from "./provider.ts";

const never = new AbortController().signal;

const tool = (name: string): Tool => ({
  name,
  description: `Does ${name}.`,
  input: { type: "object", properties: { b: { type: "string" }, a: { type: "string" } } },
  effect: "none",
  run: async () => ({ parts: [textPart("done")] }),
});

const history = ["one", "two", "three", "four", "five"].map(
  (words, at): Message => ({
    session: "s",
    seq: at + 1,
    at: 0,
    role: at % 2 === 0 ? "user" : "assistant",
    parts: [textPart(words)],
  }),
);

const turn = (more: Partial<AgentTurn> = {}): AgentTurn => ({
  session: "s",
  history,
  prompt: "You are here.",
  volatilePrompt: "It is Monday.",
  tools: [tool("write"), tool("read")],
  blob: async () => undefined,
  ...more,
});

async function ask(choice: ModelChoice, agentTurn: AgentTurn): Promise<void> {
  for await (const event of model(choice, { retries: 0 }).run(agentTurn, never))
    if (event.type === "failed") throw new Error(event.reason);
}

async function askAnthropic(agentTurn: AgentTurn) {
  const { url, bodies } = await providerServer(anthropicAnswer(textBlock("ok")));
  await ask({ provider: "anthropic", model: "claude-sonnet-4-5", apiKey: "k", baseUrl: url }, agentTurn);
  return bodies[0] ?? {};
}

const mark = { type: "ephemeral" };

describe("a request to Anthropic", () => {
  it("marks the tools, the stable system text and the last two turns for the cache", async () => {
    const { tools, system, messages } = (await askAnthropic(turn())) as {
      readonly tools: readonly unknown[];
      readonly system: readonly unknown[];
      readonly messages: readonly { readonly content: readonly { readonly cache_control?: unknown }[] }[];
    };
    expect(tools).toEqual([
      expect.not.objectContaining({ cache_control: mark }),
      expect.objectContaining({ name: "write", cache_control: mark }),
    ]);
    expect(system).toEqual([
      { type: "text", text: expect.stringMatching(/\n\nYou are here\.$/), cache_control: mark },
      { type: "text", text: "It is Monday." },
    ]);
    expect(messages.map(({ content }) => content.map(({ cache_control }) => cache_control))).toEqual([
      [undefined],
      [undefined],
      [mark],
      [undefined],
      [mark],
    ]);
  });

  it("has the same bytes of tools and stable text for any order of the tools", async () => {
    const beginning = async (agentTurn: AgentTurn) => {
      const { tools, system } = await askAnthropic(agentTurn);
      return JSON.stringify([tools, (system as readonly unknown[])[0]]);
    };
    const first = await beginning(turn());
    const other = turn({
      tools: [tool("read"), tool("write")],
      volatilePrompt: "It is Tuesday.",
      note: "[Note: x]",
    });
    expect(await beginning(other)).toBe(first);
    expect(await beginning(turn({ prompt: "You are there." }))).not.toBe(first);
  });
});

describe("a request to an unknown server", () => {
  it("has one system message and no field that only some servers accept", async () => {
    for (const provider of ["compatible", "openrouter"] as const) {
      const { url, requests } = await modelServer({ say: ["ok"] });
      await ask({ provider, model: "tiny", baseUrl: url }, turn());
      const body = requests[0]?.body;
      expect(Object.keys(body ?? {}).toSorted()).toEqual([
        "messages",
        "model",
        "stream",
        "stream_options",
        "tool_choice",
        "tools",
      ]);
      expect(JSON.stringify(body)).not.toMatch(/cache|store/);
      expect(body?.messages.filter(({ role }) => role === "system")).toEqual([
        { role: "system", content: expect.stringMatching(/\n\nYou are here\.\n\nIt is Monday\.$/) },
      ]);
      expect(body?.tools?.map((offered) => offered.function.name)).toEqual(["read", "write"]);
    }
  });
});
