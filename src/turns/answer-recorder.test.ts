import { describe, expect, it } from "vitest";
import { textPart } from "../core/message.ts";
import type { AgentEvent } from "../ports/agent.ts";
import { answerRecorder } from "./answer-recorder.ts";

const from = { provider: "anthropic", model: "m", response: "1.0" };
const part = (value: Readonly<Record<string, unknown>>): AgentEvent => ({
  type: "model_part",
  from,
  part: value,
});
const call = (id: string): AgentEvent => ({ type: "tool_call", call: { id, name: "look", arguments: {} } });
const result = (id: string): AgentEvent => ({
  type: "tool_result",
  id,
  name: "look",
  parts: [textPart("seen")],
});

function recordEvents(...events: readonly AgentEvent[]) {
  const answer = answerRecorder();
  for (const event of events) answer.record(event);
  return answer;
}

describe("data of the model's provider", () => {
  it("is in the same message as the tool call after it, so that a crash cannot separate them", () => {
    const answer = recordEvents(
      { type: "thought", text: "hm" },
      part({ type: "reasoning", length: 2, data: { signature: "sig" } }),
      call("c1"),
    );
    expect(answer.drainMessages().messages).toEqual([
      {
        role: "assistant",
        parts: [],
        reasoning: "hm",
        toolCalls: [{ id: "c1", name: "look", arguments: {} }],
        extra: {
          model: { ...from, parts: [{ type: "reasoning", length: 2, data: { signature: "sig" } }] },
        },
      },
    ]);
  });

  it("belongs to the next message after a tool result, and to the last message", () => {
    const end = recordEvents(
      part({ n: 1 }),
      call("c1"),
      result("c1"),
      part({ n: 2 }),
      call("c2"),
      result("c2"),
      { type: "model_part", from: { ...from, response: "1.1" }, part: { n: 3 } },
      { type: "text", text: "Here." },
    ).end(false);
    expect(end.messages.map(({ extra }) => extra?.model)).toEqual([
      { ...from, parts: [{ n: 1 }] },
      undefined,
      { ...from, parts: [{ n: 2 }] },
      undefined,
      { ...from, response: "1.1", parts: [{ n: 3 }] },
    ]);
    expect(end.text).toBe("Here.");
  });

  it("is stored with a plan and an error, and makes no message by itself", () => {
    const failed = recordEvents(
      part({ n: 1 }),
      { type: "plan", entries: [] },
      { type: "failed", reason: "It broke." },
    );
    expect(failed.end(false).messages.map(({ extra }) => extra)).toEqual([
      { plan: [], model: { ...from, parts: [{ n: 1 }] }, error: "It broke." },
    ]);
    expect(recordEvents(part({ n: 1 })).drainMessages().messages).toEqual([]);
  });

  it("is not stored when it is too large", () => {
    const large = { data: "x".repeat(300 * 1024) };
    const end = recordEvents(part(large), part(large), part({ n: 1 }), { type: "text", text: "Here." }).end(
      false,
    );
    expect(end.messages).toEqual([
      { role: "assistant", parts: [textPart("Here.")], extra: { model: { ...from, parts: [] } } },
    ]);
  });
});
