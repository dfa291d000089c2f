import { LLMock } from "@copilotkit/aimock";
import { describe, expect, it, onTestFinished } from "vitest";
import { model } from "../src/agents/model/model.ts";
import type { ProviderName } from "../src/agents/model/provider.ts";
import { textPart } from "../src/core/message.ts";
import type { AgentEvent } from "../src/ports/agent.ts";
import type { Tool } from "../src/ports/tool.ts";

/**
 * A mock server by other authors simulates each provider, so that a misreading of a protocol cannot be in both our own
 * server and our own client. The mock does not support: cached tokens for OpenAI, Anthropic and Google (only for
 * OpenRouter), errors inside a stream, and malformed tool arguments.
 */
interface Played {
  readonly provider: ProviderName;
  /** The URL of this provider's API on the mock. */
  readonly path: string;
  readonly name: string;
}

const PLAYED: readonly Played[] = [
  { provider: "openai", path: "/v1", name: "OpenAI" },
  { provider: "anthropic", path: "/v1", name: "Anthropic" },
  { provider: "google", path: "/v1beta", name: "Google" },
  { provider: "openrouter", path: "/api/v1", name: "OpenRouter" },
  { provider: "compatible", path: "/v1", name: "The model server" },
];

async function startMock(): Promise<LLMock> {
  const mock = new LLMock({ port: 0 });
  await mock.start();
  onTestFinished(() => mock.stop());
  return mock;
}

async function ask(
  mock: LLMock,
  { provider, path }: Played,
  tools: readonly Tool[] = [],
): Promise<AgentEvent[]> {
  const choice = { provider, model: "model-x", apiKey: "key-for-tests", baseUrl: `${mock.url}${path}` };
  const history = [{ session: "s", seq: 1, at: 0, role: "user" as const, parts: [textPart("hello")] }];
  const turn = { session: "s", history, tools, blob: async () => undefined };
  const found: AgentEvent[] = [];
  for await (const event of model(choice, { retries: 0 }).run(turn, new AbortController().signal))
    found.push(event);
  return found;
}

function textIn(events: readonly AgentEvent[], type: "text" | "thought" = "text"): string {
  return events.map((event) => (event.type === type ? event.text : "")).join("");
}

function reasonIn(events: readonly AgentEvent[]): string | undefined {
  return events.find((event) => event.type === "failed")?.reason;
}

const weather: Tool = {
  name: "weather",
  description: "Tells the weather of a city.",
  effect: "none",
  input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  async run(given) {
    return { parts: [textPart(`It rains in ${(given as { readonly city: string }).city}.`)] };
  },
};

describe.each(PLAYED)("$name, simulated by an independent mock", (played) => {
  const { name } = played;
  const host = (mock: LLMock): string => new URL(mock.url).host;

  it("streams an answer in chunks and counts its tokens", async () => {
    const mock = await startMock();
    const usage = { input_tokens: 12, output_tokens: 34, prompt_tokens: 12, completion_tokens: 34 };
    const google = { promptTokenCount: 12, candidatesTokenCount: 34, totalTokenCount: 46 };
    const reply = { content: "Good morning, dear reader.", usage: { ...usage, ...google } };
    mock.onMessage("hello", reply, { chunkSize: 5 });
    const events = await ask(mock, played);
    expect(textIn(events)).toBe("Good morning, dear reader.");
    expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(2);
    expect(events.find(({ type }) => type === "usage")).toMatchObject({
      usage: { inputTokens: 12, outputTokens: 34, provider: played.provider, model: "model-x" },
    });
    expect(reasonIn(events)).toBeUndefined();
  });

  it("calls two tools at once and continues with both results", async () => {
    const mock = await startMock();
    const calls = ["Rome", "Oslo"].map((city) => ({ name: "weather", arguments: { city } }));
    mock.on({ userMessage: "hello", hasToolResult: false }, { toolCalls: calls });
    mock.on({ hasToolResult: true }, { content: "Rain in both." });
    const events = await ask(mock, played, [weather]);
    const results = events.flatMap((event) => (event.type === "tool_result" ? [event.parts] : []));
    expect(results).toEqual([[textPart("It rains in Rome.")], [textPart("It rains in Oslo.")]]);
    expect(textIn(events)).toBe("Rain in both.");
    const last = JSON.stringify(mock.getLastRequest()?.body);
    expect(last).toContain("It rains in Rome.");
    expect(last).toContain("It rains in Oslo.");
  });

  it("thinks before it answers", async () => {
    const mock = await startMock();
    mock.onMessage("hello", { content: "Forty-two.", reasoning: "They want a number." });
    const events = await ask(mock, played);
    expect([textIn(events, "thought"), textIn(events)]).toEqual(["They want a number.", "Forty-two."]);
  });

  it.each([
    [401, "authentication_error", "did not accept the API key (401)"],
    [500, "api_error", "has an internal error (500). Try again in a few minutes."],
    [503, "overloaded_error", "is overloaded (503). Try again in a few minutes."],
  ])("fails with %i, with a readable message", async (status, type, words) => {
    const mock = await startMock();
    mock.onMessage("hello", { error: { message: type.replaceAll("_", " "), type }, status });
    const reason = reasonIn(await ask(mock, played));
    expect(reason?.startsWith(`${name} at ${host(mock)} `)).toBe(true);
    expect(reason).toContain(words);
  });

  it("reaches its rate limit and reports the wait time", async () => {
    const mock = await startMock();
    const error = { message: "Rate limit reached", type: "rate_limit_error" };
    mock.onMessage("hello", { error, status: 429, retryAfter: 20 });
    const who = `${name} at ${host(mock)}`.replace(/^The /, "the ");
    expect(reasonIn(await ask(mock, played))).toBe(
      `The rate limit of ${who} is reached (429). Try again in 20 s.`,
    );
  });

  it("is disconnected during an answer, whose partial text is kept", async () => {
    const mock = await startMock();
    mock.onMessage(
      "hello",
      { content: "abcdefghijklmnopqrstuvwxyz" },
      { chunkSize: 2, truncateAfterChunks: 9, latency: 10 },
    );
    const events = await ask(mock, played);
    expect("abcdefghijklmnopqrstuvwxyz".startsWith(textIn(events))).toBe(true);
    expect(textIn(events)).not.toBe("");
    const who = `${name} at ${host(mock)}`;
    expect([
      `${who} ended the connection before the answer was complete. /retry tries again.`,
      `The connection to ${who.replace(/^The /, "the ")} broke before the answer was complete (UND_ERR_SOCKET). /retry tries again.`,
    ]).toContain(reasonIn(events));
  });

  // The mock ends an answer of OpenAI's Responses API without `incomplete_details`, which the real API always sends.
  it.skipIf(played.provider === "openai")("reaches its output limit, and the answer is marked", async () => {
    const mock = await startMock();
    mock.onMessage("hello", { content: "Half of", finishReason: "length" });
    const events = await ask(mock, played);
    expect(textIn(events)).toBe("Half of");
    expect(reasonIn(events)).toBe(
      "The answer is incomplete: model-x reached its output limit. Ask it to go on to get the rest.",
    );
  });
});

describe("OpenRouter, simulated by an independent mock", () => {
  it("reports the tokens read from its cache, and the cost", async () => {
    const mock = await startMock();
    const details = { prompt_tokens_details: { cached_tokens: 64 }, cost: 0.002 };
    const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, ...details };
    mock.onMessage("hello", { content: "ok", usage });
    const events = await ask(mock, { provider: "openrouter", path: "/api/v1", name: "OpenRouter" });
    expect(events.find(({ type }) => type === "usage")).toMatchObject({
      usage: { inputTokens: 36, cacheReadTokens: 64, lastPromptTokens: 100, costUsd: 0.002 },
    });
  });
});
