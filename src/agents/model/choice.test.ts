import { describe, expect, it } from "vitest";
import { modelServer } from "../../../test/support/model-server.ts";
import { type Message, textPart } from "../../core/message.ts";
import type { AgentEvent } from "../../ports/agent.ts";
import { model } from "./model.ts";
import type { ModelChoice, ProviderName } from "./provider.ts";

const never = new AbortController().signal;
const own: ModelChoice = {
  provider: "anthropic",
  model: "claude-x",
  apiKey: "anthropic-secret",
  window: 9000,
};

async function said(
  name: string,
  choice: ModelChoice,
  other?: (provider: ProviderName) => ModelChoice | undefined,
): Promise<AgentEvent[]> {
  const history: Message[] = [{ session: "s", seq: 1, at: 0, role: "user", parts: [textPart("go")] }];
  const agent = model(choice, { retries: 0, ...(other !== undefined && { other }) });
  const found: AgentEvent[] = [];
  for await (const event of agent.run(
    { session: "s", history, model: name, blob: async () => undefined },
    never,
  ))
    found.push(event);
  return found;
}

describe("a model that a chat chooses", () => {
  it.each(["openrouter:openai/gpt-9", "OpenRouter:openai/gpt-9"])(
    "is another provider's when it is named: %s",
    async (name) => {
      const { url, requests } = await modelServer({ say: ["ok"] });
      const asked: string[] = [];
      const found = await said(name, own, (provider) => {
        asked.push(provider);
        return { provider, model: "auto", apiKey: "router-secret", baseUrl: url };
      });
      expect(asked).toEqual(["openrouter"]);
      expect(found[0]).toEqual({ type: "text", text: "ok" });
      expect(found.at(-1)).toMatchObject({ usage: { provider: "openrouter", model: "openai/gpt-9" } });
      expect(requests[0]?.body.model).toBe("openai/gpt-9");
      expect(requests[0]?.headers.authorization).toBe("Bearer router-secret");
      expect(JSON.stringify(requests[0]?.headers)).not.toContain("anthropic-secret");
    },
  );

  it("is our own provider's when that one is named, or nobody", async () => {
    const { url, requests } = await modelServer({ say: ["ok"] });
    const ours: ModelChoice = { provider: "compatible", model: "tiny", baseUrl: url };
    for (const name of ["compatible:llama3:8b", "llama3:8b", "some:thing", "openai"]) await said(name, ours);
    expect(requests.map(({ body }) => body.model)).toEqual([
      "llama3:8b",
      "llama3:8b",
      "some:thing",
      "openai",
    ]);
  });

  it("is the configured one even if its name looks like another's", async () => {
    const { url, requests } = await modelServer({ say: ["ok"] });
    await said("openai:mine", { provider: "compatible", model: "openai:mine", baseUrl: url });
    expect(requests[0]?.body.model).toBe("openai:mine");
  });

  it.each([
    ["openai:gpt-9", "OPENAI_API_KEY"],
    ["openrouter:x", "OPENROUTER_API_KEY"],
    ["google:x", "GEMINI_API_KEY"],
    ["compatible:x", "POSTRIDER_BASE_URL"],
  ])("without a key is refused in words that name the variable: %s", async (name, variable) => {
    for (const other of [undefined, () => undefined]) {
      expect(await said(name, own, other)).toEqual([
        { type: "failed", reason: expect.stringMatching(new RegExp(`set ${variable} and start again`)) },
      ]);
    }
  });

  it("reads as much as that one does", () => {
    const other = (provider: ProviderName): ModelChoice => ({ provider, model: "big", window: 7777 });
    const { getContextWindow, contextWindow } = model(own, { other });
    expect(contextWindow).toBe(9000);
    const names = ["claude-x", "anthropic:claude-x", "anthropic:claude-y", "openai:gpt-4", "compatible:big"];
    expect(names.map((name) => getContextWindow?.(name))).toEqual([9000, 9000, 200_000, 8192, 7777]);
    expect(model(own).getContextWindow?.("openai:gpt-4")).toBe(8192);
  });
});

describe("the models that there are", () => {
  const at = (baseUrl: string, more: Partial<ModelChoice> = {}): ModelChoice => ({
    provider: "compatible",
    model: "tiny",
    baseUrl,
    ...more,
  });

  it("are those that the provider lists, asked for once, with its key", async () => {
    const server = await modelServer();
    server.models = { data: [{ id: "a" }, { id: "b" }, { id: "a" }, {}, null, { id: 7 }] };
    const agent = model(at(server.url, { apiKey: "k" }));
    const lists = await Promise.all([agent.models?.(never), agent.models?.(never)]);
    expect(lists).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
    expect(await model(at(server.url, { apiKey: "k" })).models?.(never)).toEqual(["a", "b"]);
    expect(server.listed).toHaveLength(1);
    expect(server.listed[0]?.authorization).toBe("Bearer k");
  });

  it("are asked for as Anthropic wants it", async () => {
    const server = await modelServer();
    server.models = { data: [{ type: "model", id: "claude-x" }] };
    expect(await model(at(server.url, { provider: "anthropic", apiKey: "k" })).models?.(never)).toEqual([
      "claude-x",
    ]);
    expect(server.listed[0]).toMatchObject({ "x-api-key": "k", "anthropic-version": expect.any(String) });
    expect(server.listed[0]?.authorization).toBeUndefined();
  });

  it("are asked for as Google wants it, and are those that answer in a chat", async () => {
    const server = await modelServer();
    server.models = {
      models: [
        { name: "models/gemini-x", supportedGenerationMethods: ["generateContent", "countTokens"] },
        { name: "models/embedding-x", supportedGenerationMethods: ["embedContent"] },
        null,
        { name: 7, supportedGenerationMethods: ["generateContent"] },
      ],
    };
    expect(await model(at(server.url, { provider: "google", apiKey: "k" })).models?.(never)).toEqual([
      "gemini-x",
    ]);
    expect(server.listed[0]).toMatchObject({ "x-goog-api-key": "k" });
    expect(server.listed[0]?.authorization).toBeUndefined();
  });

  it("are 200 at most, and of OpenAI's those that answer in a chat", async () => {
    const server = await modelServer();
    const many = Array.from({ length: 300 }, (_, n) => ({ id: `m${n}` }));
    server.models = { data: [{ id: "text-embedding-3" }, { id: "whisper-1" }, ...many] };
    const names = await model(at(server.url, { provider: "openai" })).models?.(never);
    expect([names?.length, names?.[0]]).toEqual([200, "m0"]);
  });

  it.each([[{ error: "no" }], [[]], [null], ["text"]])("are none when the list is none: %j", async (list) => {
    const server = await modelServer();
    server.models = list;
    expect(await model(at(server.url)).models?.(never)).toEqual([]);
  });

  it("are none when nobody is there, nobody answers in time, or nobody waits", async () => {
    expect(await model(at("http://127.0.0.1:1/v1")).models?.(never)).toEqual([]);
    const { url } = await modelServer();
    expect(await model(at(url)).models?.(AbortSignal.abort())).toEqual([]);
    const before = performance.now();
    expect(await model(at(url)).models?.(never)).toEqual([]);
    expect(performance.now() - before).toBeLessThan(4000);
  });
});
