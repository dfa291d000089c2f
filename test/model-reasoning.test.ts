import { describe, expect, it } from "vitest";
import { model } from "../src/agents/model/model.ts";
import type { ProviderName } from "../src/agents/model/provider.ts";
import { type Message, type NewMessage, textPart } from "../src/core/message.ts";
import { providerHistory } from "../src/core/projection.ts";
import type { Agent, AgentTurn } from "../src/ports/agent.ts";
import type { Tool } from "../src/ports/tool.ts";
import { answerRecorder } from "../src/turns/answer-recorder.ts";
import { modelServer } from "./support/model-server.ts";
import {
  anthropicAnswer,
  callBlock,
  openaiAnswer,
  type ProviderReply,
  providerServer,
  textBlock,
  thinkingBlock,
} from "./support/provider-server.ts";

const never = new AbortController().signal;

const look: Tool = {
  name: "look",
  description: "Looks.",
  input: { type: "object", properties: { at: { type: "string" } } },
  effect: "none",
  run: async () => ({ parts: [textPart("seen")] }),
};

interface Asking {
  readonly history: readonly NewMessage[];
  readonly provider: ProviderName;
  readonly model: string;
}

/** Runs one turn and returns the requests, and the history with the stored answer. */
async function runOne({ history, provider, model: name }: Asking, ...replies: readonly ProviderReply[]) {
  const server = await providerServer(...replies);
  const agent = model({ provider, model: name, apiKey: "k", baseUrl: server.url }, { retries: 0 });
  return { bodies: server.bodies, ...(await answerWith(agent, history)) };
}

async function answerWith(agent: Agent, history: readonly NewMessage[]) {
  const turn: AgentTurn = {
    session: "s",
    history: providerHistory(stored(history)),
    tools: [look],
    blob: async () => undefined,
  };
  const answer = answerRecorder();
  for await (const event of agent.run(turn, never)) answer.record(event);
  const end = answer.end(false);
  return { end, after: [...history, ...end.messages] };
}

/** As it is read from the database. */
function stored(messages: readonly NewMessage[]): Message[] {
  return messages.map((message, at) =>
    JSON.parse(JSON.stringify({ session: "s", seq: at + 1, at: 0, ...message })),
  );
}

const said = (words: string): NewMessage => ({ role: "user", parts: [textPart(words)] });

/** Without the cache marks, which move from request to request. */
function messagesIn(body: Readonly<Record<string, unknown>> | undefined): readonly unknown[] {
  const list = (body?.messages ?? body?.input) as readonly unknown[];
  return JSON.parse(JSON.stringify(list, (key, value) => (key === "cache_control" ? undefined : value)));
}

const sonnet = { provider: "anthropic", model: "claude-sonnet-4-5" } as const;
const gpt = { provider: "openai", model: "gpt-5" } as const;

describe("the thinking blocks of Anthropic's models", () => {
  const calling = anthropicAnswer(
    thinkingBlock("They want it. ", "sig-1"),
    { start: { type: "redacted_thinking", data: "hidden" } },
    textBlock("I look."),
    callBlock("c1", "look", { at: "a" }),
    callBlock("c2", "look", { at: "b" }),
  );
  const ending = anthropicAnswer(thinkingBlock("Done.", "sig-2"), textBlock("Here."));
  const called = {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "They want it. ", signature: "sig-1" },
      { type: "redacted_thinking", data: "hidden" },
      { type: "text", text: "I look." },
      { type: "tool_use", id: "c1", name: "look", input: { at: "a" } },
      { type: "tool_use", id: "c2", name: "look", input: { at: "b" } },
    ],
  };
  const results = {
    role: "user",
    content: ["c1", "c2"].map((tool_use_id) => ({ type: "tool_result", tool_use_id, content: "seen" })),
  };

  it("are sent back with their signatures, in the turn and in every later one", async () => {
    const first = await runOne({ ...sonnet, history: [said("go")] }, calling, ending);
    const asked = { role: "user", content: [{ type: "text", text: "go" }] };
    expect(messagesIn(first.bodies[1])).toEqual([asked, called, results]);
    const second = await runOne(
      { ...sonnet, history: [...first.after, said("more")] },
      anthropicAnswer(textBlock("ok")),
    );
    expect(messagesIn(second.bodies[0])).toEqual([
      asked,
      called,
      results,
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Done.", signature: "sig-2" },
          { type: "text", text: "Here." },
        ],
      },
      { role: "user", content: [{ type: "text", text: "more" }] },
    ]);
  });

  it("are stored with the call that follows them, and never as text of the answer", async () => {
    const { end } = await runOne({ ...sonnet, history: [said("go")] }, calling, ending);
    const [first, , second] = end.messages;
    expect(first).toMatchObject({ toolCalls: [{ id: "c1" }], reasoning: "They want it. " });
    expect(JSON.stringify(first?.extra)).toContain("sig-1");
    expect(JSON.stringify(first?.extra)).not.toContain("They want it.");
    expect(second).toMatchObject({ toolCalls: [{ id: "c2" }] });
    expect(end.text).toBe("I look.\n\nHere.");
  });

  it.each([
    ["another provider", { ...gpt }, openaiAnswer({ say: "ok" })],
    [
      "another model of the same provider",
      { ...sonnet, model: "claude-opus-4-5" },
      anthropicAnswer(textBlock("ok")),
    ],
  ])("are never sent to %s", async (_, other, reply) => {
    const first = await runOne({ ...sonnet, history: [said("go")] }, calling, ending);
    const { bodies } = await runOne({ ...other, history: [...first.after, said("more")] }, reply);
    const sent = JSON.stringify(bodies[0]);
    expect(sent).toContain("seen");
    for (const secret of ["sig-1", "sig-2", "hidden", "They want it."]) expect(sent).not.toContain(secret);
  });

  it("are omitted if the provider refuses them, and the session continues", async () => {
    const first = await runOne({ ...sonnet, history: [said("go")] }, calling, ending);
    const { bodies, end } = await runOne(
      { ...sonnet, history: [...first.after, said("more")] },
      { status: 400, message: "messages.1.content.0: Invalid `signature` in `thinking` block" },
      anthropicAnswer(textBlock("ok")),
    );
    expect(end).toMatchObject({ outcome: "done", text: "ok" });
    expect(JSON.stringify(bodies[1])).not.toContain("sig-1");
    expect(JSON.stringify(bodies[1])).toContain('"id":"c1"');
  });

  it("are omitted if the message no longer contains their whole text", async () => {
    const first = await runOne({ ...sonnet, history: [said("go")] }, calling, ending);
    const cut = first.after.map(({ reasoning, ...message }) => message);
    const { bodies } = await runOne(
      { ...sonnet, history: [...cut, said("more")] },
      anthropicAnswer(textBlock("ok")),
    );
    expect(JSON.stringify(bodies[0])).not.toContain("sig-1");
    expect(JSON.stringify(bodies[0])).toContain("I look.");
  });
});

describe("the reasoning of OpenAI's models", () => {
  it("is not stored at the provider, and is sent back encrypted, in the turn and in every later one", async () => {
    const first = await runOne(
      { ...gpt, history: [said("go")] },
      openaiAnswer({ encrypted: "enc-1", calls: [{ id: "c1", name: "look", input: { at: "a" } }] }),
      openaiAnswer({ encrypted: "enc-2", say: "Here." }),
    );
    const exchange = [
      { role: "user", content: [{ type: "input_text", text: "go" }] },
      { type: "reasoning", id: "rs_1", encrypted_content: "enc-1", summary: [] },
      { type: "function_call", call_id: "c1", name: "look", arguments: '{"at":"a"}' },
      { type: "function_call_output", call_id: "c1", output: "seen" },
    ];
    expect(messagesIn(first.bodies[1]).slice(1)).toEqual(exchange);
    const second = await runOne(
      { ...gpt, history: [...first.after, said("more")] },
      openaiAnswer({ say: "ok" }),
    );
    expect(messagesIn(second.bodies[0]).slice(1)).toEqual([
      ...exchange,
      { type: "reasoning", id: "rs_1", encrypted_content: "enc-2", summary: [] },
      { role: "assistant", content: "Here." },
      { role: "user", content: [{ type: "input_text", text: "more" }] },
    ]);
    for (const body of [...first.bodies, ...second.bodies]) {
      expect(body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
      expect(body.prompt_cache_key).toMatch(/^[0-9a-f]{32}$/);
    }
    expect(new Set([...first.bodies, ...second.bodies].map((body) => body.prompt_cache_key)).size).toBe(1);
  });
});

describe("the thought signature of a call from a compatible server", () => {
  it("is sent back with its call, in the turn and in every later one", async () => {
    const server = await modelServer(
      { calls: [{ id: "c1", name: "look", arguments: "{}", signature: "sig-1" }] },
      { say: ["Here."] },
    );
    const agent = model({ provider: "compatible", model: "gemini", baseUrl: server.url }, { retries: 0 });
    let history: readonly NewMessage[] = [said("go")];
    for (const words of ["more", ""]) {
      const { end } = await answerWith(agent, history);
      history = [...history, ...end.messages, said(words)];
    }
    const call = {
      id: "c1",
      type: "function",
      function: { name: "look", arguments: "{}" },
      extra_content: { google: { thought_signature: "sig-1" } },
    };
    expect(server.requests).toHaveLength(3);
    for (const { body } of server.requests.slice(1))
      expect(body.messages[2]).toEqual({ role: "assistant", content: null, tool_calls: [call] });
  });
});

describe("the provider data of a message", () => {
  it("is ignored if it is invalid, for example from an import or an editor", async () => {
    const odd = { role: "assistant", parts: [textPart("I said it.")], reasoning: "hm" } as const;
    const parts = [
      { type: "reasoning", length: 2, data: { cacheControl: "x", signature: 7 } },
      { type: "text", length: -1 },
      { type: "call" },
      "odd",
    ];
    for (const kept of ["odd", { ...sonnet, response: "1", parts: 7 }, { ...sonnet, response: "1", parts }]) {
      const extra = { model: kept };
      const { bodies } = await runOne(
        { ...sonnet, history: [said("go"), { ...odd, extra }, said("more")] },
        anthropicAnswer(textBlock("ok")),
      );
      expect(messagesIn(bodies[0])[1]).toEqual({
        role: "assistant",
        content: [{ type: "text", text: "I said it." }],
      });
    }
  });
});
