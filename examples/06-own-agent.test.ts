// The contract suite for the agent of example 06.
//
//   node --import ./examples/resolve.mjs --test examples/06-own-agent.test.ts

import { describe, it } from "node:test";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { agentContract } from "postrider/testing";
import { aiSdkAgent } from "./ai-sdk-agent.ts";

type Stream = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"];
type Chunk = Stream extends ReadableStream<infer Part> ? Part : never;

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const end = (reason: "stop" | "tool-calls"): Chunk => ({
  type: "finish",
  finishReason: { unified: reason, raw: reason },
  usage,
});
const say = (text: string): Chunk[] => [
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: text },
  { type: "text-end", id: "1" },
];

/** A model that answers each request with the next list of chunks, and then with the last. */
function mock(...rounds: readonly (readonly Chunk[])[]) {
  let round = 0;
  const model = new MockLanguageModelV4({
    doStream: async () => {
      const chunks = rounds[Math.min(round++, rounds.length - 1)] ?? [];
      return { stream: simulateReadableStream({ chunks: [...chunks] }) };
    },
  });
  return aiSdkAgent("mock", model);
}

describe("the AI SDK agent", () => {
  agentContract(
    { describe, it },
    {
      answers: async () => ({
        agent: mock([...say("At every stage."), end("stop")]),
        said: "Where?",
        answer: "At every stage.",
      }),
      endless: async () => {
        const model = new MockLanguageModelV4({
          doStream: async ({ abortSignal }) => ({
            stream: new ReadableStream<Chunk>({
              start(controller) {
                for (const chunk of say("Once upon a time")) controller.enqueue(chunk);
                abortSignal?.addEventListener("abort", () => controller.error(abortSignal.reason));
              },
            }),
          }),
        });
        return { agent: aiSdkAgent("mock", model), said: "Tell me a story." };
      },
      fails: async () => {
        const model = new MockLanguageModelV4({
          doStream: () => Promise.reject(new Error("the model is on strike")),
        });
        return { agent: aiSdkAgent("mock", model), said: "Hello" };
      },
      uses: async (name, args) => ({
        agent: mock(
          [
            { type: "tool-call", toolCallId: "call-1", toolName: name, input: JSON.stringify(args) },
            end("tool-calls"),
          ],
          [...say("Done."), end("stop")],
        ),
        said: "Use it.",
      }),
    },
  );
});
