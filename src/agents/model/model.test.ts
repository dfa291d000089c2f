import { describe, expect, it } from "vitest";
import { modelServer } from "../../../test/support/model-server.ts";
import { type Message, textPart } from "../../core/message.ts";
import type { AgentEvent, AgentTurn } from "../../ports/agent.ts";
import { model } from "./model.ts";

const SECRET = "sk-very-secret";

function turn(...history: readonly Partial<Message>[]): AgentTurn {
  const messages = history.map(
    (message, index): Message => ({
      session: "s",
      seq: index + 1,
      at: 0,
      role: "user",
      parts: [],
      ...message,
    }),
  );
  return { session: "s", history: messages, blob: async () => new Uint8Array([1, 2, 3]) };
}

const hello = turn({ parts: [textPart("hello")] });

async function events(
  url: string,
  agentTurn: AgentTurn = hello,
  signal: AbortSignal = new AbortController().signal,
): Promise<AgentEvent[]> {
  const agent = model(
    { provider: "compatible", model: "tiny", apiKey: SECRET, baseUrl: url },
    { retries: 0 },
  );
  const found: AgentEvent[] = [];
  for await (const event of agent.run(agentTurn, signal)) found.push(event);
  return found;
}

describe("an answer of a model", () => {
  it("streams, with its reasoning and its usage", async () => {
    const { url, requests } = await modelServer({
      think: "They greet me.",
      say: ["Good ", "morning"],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 64 },
        completion_tokens_details: { reasoning_tokens: 7 },
        cost: 0.0012,
      },
    });
    expect(await events(url)).toEqual([
      { type: "thought", text: "They greet me." },
      {
        type: "model_part",
        from: { provider: "compatible", model: "tiny", response: "1.0" },
        part: { type: "reasoning", length: 14 },
      },
      { type: "text", text: "Good " },
      { type: "text", text: "morning" },
      {
        type: "usage",
        usage: {
          inputTokens: 36,
          outputTokens: 20,
          cacheReadTokens: 64,
          cacheWriteTokens: 0,
          reasoningTokens: 7,
          lastPromptTokens: 100,
          model: "tiny",
          provider: "compatible",
          baseUrl: url,
          costUsd: 0.0012,
          costStatus: "actual",
          costSource: "provider",
        },
      },
    ]);
    expect(requests[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(requests[0]?.body.model).toBe("tiny");
  });

  it("is requested with the whole history, in text that every provider accepts", async () => {
    const { url, requests } = await modelServer({ say: ["ok"] });
    const agentTurn = turn(
      { parts: [textPart("look"), { type: "image", blob: "ab", mimeType: "image/png", size: 3 }] },
      {
        role: "assistant",
        parts: [textPart("I see")],
        toolCalls: [{ id: "1", name: "zoom", arguments: { by: 2 } }],
      },
      { role: "tool", parts: [textPart("zoomed")], toolCallId: "1", toolName: "zoom" },
      { role: "assistant", parts: [textPart("Now it")], origin: { interrupted: true } },
      { role: "note", parts: [textPart("a summary")] },
      { parts: [textPart("go on")] },
    );
    await events(url, {
      ...agentTurn,
      prompt: "You are on Telegram.",
      volatilePrompt: "It is Monday.",
      note: "[Note: it starts afresh.]",
    });
    const [system, ...rest] = requests[0]?.body.messages ?? [];
    expect(system?.role).toBe("system");
    expect(system?.content).toMatch(/You are on Telegram\.\n\nIt is Monday\.$/);
    expect(rest).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
        ],
      },
      {
        role: "assistant",
        content: [
          "I see",
          "[Record of an earlier tool call. The tool cannot be called now.]",
          '> zoom {"by":2}',
          "> It returned:",
          "> zoomed",
          "[End of the record.]",
          "",
          "Now it",
          "[interrupted]",
        ].join("\n"),
      },
      { role: "user", content: "[Note: a summary]" },
      {
        role: "user",
        content: [
          { type: "text", text: "go on" },
          { type: "text", text: "[From the system, not from the person]\n[Note: it starts afresh.]" },
        ],
      },
    ]);
  });

  it("comes from the model that the chat chose, and its usage counts for that model", async () => {
    const { url, requests } = await modelServer({
      say: ["ok"],
      usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
    });
    const found = await events(url, { ...hello, model: "large" });
    expect(requests[0]?.body.model).toBe("large");
    expect(found.at(-1)).toMatchObject({ type: "usage", usage: { model: "large" } });
    const { url: other } = await modelServer({
      status: 404,
      body: { error: { message: "model not found" } },
    });
    expect(await events(other, { ...hello, model: "nobody" })).toMatchObject([
      { type: "failed", reason: expect.stringContaining("does not know the model nobody") },
    ]);
  });

  it("ends when it is stopped, and the request is aborted", async () => {
    const { url, left } = await modelServer({ say: ["It began "], hang: true });
    const stop = new AbortController();
    const agent = model({ provider: "compatible", model: "tiny", baseUrl: url });
    const found: AgentEvent[] = [];
    for await (const event of agent.run(hello, stop.signal)) {
      found.push(event);
      stop.abort();
    }
    expect(found).toEqual([{ type: "text", text: "It began " }]);
    await left;
  });

  it("is requested again when the provider is overloaded", async () => {
    const { url, requests } = await modelServer({ status: 503 }, { say: ["at last"] });
    const agent = model({ provider: "compatible", model: "tiny", baseUrl: url }, { retries: 1 });
    const found: AgentEvent[] = [];
    for await (const event of agent.run(hello, new AbortController().signal)) found.push(event);
    expect(found[0]).toEqual({ type: "text", text: "at last" });
    expect(requests).toHaveLength(2);
  });
});

describe("a provider that stays overloaded", () => {
  it("gets no more requests than configured", async () => {
    const { url, requests } = await modelServer({ status: 503 });
    const agent = model({ provider: "compatible", model: "tiny", baseUrl: url }, { retries: 0 });
    const found: AgentEvent[] = [];
    for await (const event of agent.run(hello, new AbortController().signal)) found.push(event);
    expect(found).toMatchObject([{ type: "failed" }]);
    expect(requests).toHaveLength(1);
  });
});

describe("a conversation that is too long for the model", () => {
  it.each([
    [400, "This model's maximum context length is 8192 tokens."],
    [400, "prompt is too long: 210000 tokens > 200000 maximum"],
    [400, "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000"],
    [400, "Your input exceeds the context window of this model."],
    [400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."],
    [400, "the request exceeds the available context size. try increasing it"],
    [422, "Input is too long for requested model."],
    [413, "request_too_large"],
  ])("is distinguished from other failures, because a summary can help: %i %s", async (status, message) => {
    const { url } = await modelServer({ status, body: { error: { message } } });
    expect(await events(url)).toEqual([
      { type: "failed", tooLong: true, reason: expect.stringMatching(/too long for tiny/) },
    ]);
  });

  it("is not confused with any other failure", async () => {
    for (const [status, message] of [
      [400, "max_tokens is too large"],
      [401, "prompt is too long"],
      [429, "Too many tokens per minute"],
      [500, "odd"],
    ] as const) {
      const { url } = await modelServer({ status, body: { error: { message } } });
      expect((await events(url)).some((event) => "tooLong" in event)).toBe(false);
    }
  });

  it("is recognized in the middle of an answer", async () => {
    const long = await modelServer({
      say: ["Half "],
      error: { message: "Your input exceeds the context window." },
    });
    expect(await events(long.url)).toMatchObject([
      { type: "text", text: "Half " },
      { type: "failed", tooLong: true },
    ]);
  });
});
