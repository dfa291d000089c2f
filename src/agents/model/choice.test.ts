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

async function runModel(
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
    "belongs to another provider if the name says so: %s",
    async (name) => {
      const { url, requests } = await modelServer({ say: ["ok"] });
      const requested: string[] = [];
      const found = await runModel(name, own, (provider) => {
        requested.push(provider);
        return { provider, model: "auto", apiKey: "router-secret", baseUrl: url };
      });
      expect(requested).toEqual(["openrouter"]);
      expect(found[0]).toEqual({ type: "text", text: "ok" });
      expect(found.at(-1)).toMatchObject({ usage: { provider: "openrouter", model: "openai/gpt-9" } });
      expect(requests[0]?.body.model).toBe("openai/gpt-9");
      expect(requests[0]?.headers.authorization).toBe("Bearer router-secret");
      expect(JSON.stringify(requests[0]?.headers)).not.toContain("anthropic-secret");
    },
  );

  it("belongs to the configured provider by default and by name", async () => {
    const { url, requests } = await modelServer({ say: ["ok"] });
    const ours: ModelChoice = { provider: "compatible", model: "tiny", baseUrl: url };
    for (const name of ["compatible:llama3:8b", "llama3:8b", "some:thing", "openai"])
      await runModel(name, ours);
    expect(requests.map(({ body }) => body.model)).toEqual([
      "llama3:8b",
      "llama3:8b",
      "some:thing",
      "openai",
    ]);
  });

  it("is the configured one even if its name looks like that of another provider", async () => {
    const { url, requests } = await modelServer({ say: ["ok"] });
    await runModel("openai:mine", { provider: "compatible", model: "openai:mine", baseUrl: url });
    expect(requests[0]?.body.model).toBe("openai:mine");
  });

  it.each([
    ["openai:gpt-9", "OPENAI_API_KEY"],
    ["openrouter:x", "OPENROUTER_API_KEY"],
    ["google:x", "GEMINI_API_KEY"],
    ["compatible:x", "POSTRIDER_BASE_URL"],
  ])("is refused without a key, with the name of the variable: %s", async (name, variable) => {
    for (const other of [undefined, () => undefined]) {
      expect(await runModel(name, own, other)).toEqual([
        { type: "failed", reason: expect.stringMatching(new RegExp(`set ${variable} and start again`)) },
      ]);
    }
  });

  it("has its own context window", () => {
    const other = (provider: ProviderName): ModelChoice => ({ provider, model: "big", window: 7777 });
    const { getContextWindow, contextWindow } = model(own, { other });
    expect(contextWindow).toBe(9000);
    const names = ["claude-x", "anthropic:claude-x", "anthropic:claude-y", "openai:gpt-4", "compatible:big"];
    expect(names.map((name) => getContextWindow?.(name))).toEqual([9000, 9000, 200_000, 8192, 7777]);
    expect(model(own).getContextWindow?.("openai:gpt-4")).toBe(8192);
  });
});

describe("the list of models", () => {
  const at = (baseUrl: string, more: Partial<ModelChoice> = {}): ModelChoice => ({
    provider: "compatible",
    model: "tiny",
    baseUrl,
    ...more,
  });

  it("comes from the provider, in one request with its key", async () => {
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

  it("is requested in Anthropic's format", async () => {
    const server = await modelServer();
    server.models = { data: [{ type: "model", id: "claude-x" }] };
    expect(await model(at(server.url, { provider: "anthropic", apiKey: "k" })).models?.(never)).toEqual([
      "claude-x",
    ]);
    expect(server.listed[0]).toMatchObject({ "x-api-key": "k", "anthropic-version": expect.any(String) });
    expect(server.listed[0]?.authorization).toBeUndefined();
  });

  it("is requested in Google's format, and contains the models that can chat", async () => {
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

  it("contains at most 200 names, and of OpenAI's models those that can chat", async () => {
    const server = await modelServer();
    const many = Array.from({ length: 300 }, (_, n) => ({ id: `m${n}` }));
    server.models = { data: [{ id: "text-embedding-3" }, { id: "whisper-1" }, ...many] };
    const names = await model(at(server.url, { provider: "openai" })).models?.(never);
    expect([names?.length, names?.[0]]).toEqual([200, "m0"]);
  });

  it.each([[{ error: "no" }], [[]], [null], ["text"]])(
    "is empty if the response is not a list: %j",
    async (list) => {
      const server = await modelServer();
      server.models = list;
      expect(await model(at(server.url)).models?.(never)).toEqual([]);
    },
  );

  it("is empty after a refused connection, a time-out or an abort", async () => {
    expect(await model(at("http://127.0.0.1:1/v1")).models?.(never)).toEqual([]);
    const { url } = await modelServer();
    expect(await model(at(url)).models?.(AbortSignal.abort())).toEqual([]);
    const before = performance.now();
    expect(await model(at(url)).models?.(never)).toEqual([]);
    expect(performance.now() - before).toBeLessThan(4000);
  });
});
