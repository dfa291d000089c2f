// An own agent: the AI SDK behind the agent port, in a chat whose history is on the disk. A real application passes a model
// such as openai("gpt-5"); here a mock answers, so that the example runs without a key.
//
//   node --import ./examples/resolve.mjs examples/06-own-agent.ts

import assert from "node:assert/strict";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { echo, model, script } from "postrider/agent";
import { aiSdkAgent } from "./ai-sdk-agent.ts";

/** A mock model that answers with these words. */
function createMock(words: readonly string[]): MockLanguageModelV4 {
  const usage = {
    inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 2, text: 2, reasoning: 0 },
  };
  const finishReason = { unified: "stop" as const, raw: "stop" };
  return new MockLanguageModelV4({
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start", id: "1" },
          ...words.map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
          { type: "text-end", id: "1" },
          { type: "finish", finishReason, usage },
        ],
      }),
    }),
  });
}

/** One turn by hand, as the gateway does it: a history in, events out. */
async function ask(agent: typeof echo, text: string): Promise<string> {
  const turn = {
    session: "example",
    history: [
      { session: "example", seq: 1, at: Date.now(), role: "user", parts: [{ type: "text", text }] },
    ] as const,
    blob: async () => undefined,
  };
  let said = "";
  for await (const event of agent.run(turn, new AbortController().signal)) {
    if (event.type === "text") said += event.text;
    if (event.type === "failed") said += `(${event.reason})`;
  }
  return said;
}

const own = aiSdkAgent("mock", createMock(["At ", "every ", "stage."]));
assert.equal(await ask(own, "Where does the rider change horses?"), "At every stage.");

// The built-in agents have the same port. `model` asks a provider by name; this one has no key.
assert.equal(await ask(echo, "hello"), "You said: hello");
assert.equal(await ask(script({ answers: [{ to: "hello", say: ["Good day."] }] }), "hello"), "Good day.");
const nobody = model(
  { provider: "compatible", model: "none", baseUrl: "http://127.0.0.1:1/v1" },
  { retries: 0 },
);
assert.match(await ask(nobody, "hello"), /^\(.+\)$/);
console.log("Four agents, one port.");
