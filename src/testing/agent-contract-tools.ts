import assert from "node:assert/strict";
import { textPart } from "../core/message.ts";
import type { AgentEvent } from "../ports/agent.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import {
  type AgentCase,
  createAgentSignal,
  createAgentTurn,
  drainEvents,
  failAfter,
  SOON_MS,
  waitForEvent,
  waitTicks,
} from "./agent-scene.ts";

type AgentRule = (promise: string, proof: () => Promise<void>) => void;
type ToolCaller = (name: string, given: Readonly<Record<string, unknown>>) => Promise<AgentCase>;

const ARGS = { word: "saddle" };

/** Rules for calls of tools that the turn provides. */
export function defineToolRules(rule: AgentRule, uses: ToolCaller): void {
  rule("runs only when the next event is requested, with the agent's arguments", async () => {
    const tool = createRecordingTool();
    const events = await startToolTurn(uses, tool);
    const { call } = await waitForEvent(events, "tool_call");
    assert.deepEqual(
      { name: call.name, arguments: call.arguments, effect: call.effect },
      { name: tool.name, arguments: ARGS, effect: "external" },
    );
    await waitTicks();
    assert.deepEqual(tool.given, [], "the tool ran before the call could be stored");
    const result = await waitForEvent(events, "tool_result");
    assert.deepEqual(result, {
      type: "tool_result",
      id: call.id,
      name: tool.name,
      parts: [textPart("kept")],
    });
    assert.deepEqual(tool.given, [ARGS]);
    await drainEvents(events.next(), events);
  });

  rule("requests its approval first, and runs after a yes", async () => {
    const tool = createRecordingTool({ buildApprovalRequest: () => ({ title: "Keep it?" }) });
    const events = await startToolTurn(uses, tool);
    const asked = await waitForEvent(events, "approval");
    assert.equal(asked.request.title, "Keep it?");
    asked.answer("once");
    await waitForEvent(events, "tool_call");
    await drainEvents(events.next(), events);
    assert.deepEqual(tool.given, [ARGS]);
  });

  for (const answer of ["deny", "never"] as const) {
    rule(`does not run after the answer ${answer}: the call has a failed result`, async () => {
      const tool = createRecordingTool({ buildApprovalRequest: () => ({ title: "Keep it?" }) });
      const events = await startToolTurn(uses, tool);
      (await waitForEvent(events, "approval")).answer(answer);
      const { call } = await waitForEvent(events, "tool_call");
      const result = await waitForEvent(events, "tool_result");
      assert.deepEqual([result.id, result.failed], [call.id, true]);
      await drainEvents(events.next(), events);
      assert.deepEqual(tool.given, []);
    });
  }

  rule("that throws has a failed result, and the agent continues", async () => {
    const events = await startToolTurn(
      uses,
      createRecordingTool({ run: () => Promise.reject(new Error("It broke.")) }),
    );
    assert.equal((await waitForEvent(events, "tool_result")).failed, true);
    await drainEvents(events.next(), events);
  });

  rule("that does not exist has a failed result, and the agent continues", async () => {
    const { agent, said } = await uses("keep", ARGS);
    const events = agent.run(createAgentTurn(said), createAgentSignal())[Symbol.asyncIterator]();
    assert.equal((await waitForEvent(events, "tool_result")).failed, true);
    await drainEvents(events.next(), events);
  });

  rule("that never ends does not prevent the agent from stopping", async () => {
    const acting = Promise.withResolvers<void>();
    const endless = (): Promise<ToolOutput> => {
      acting.resolve();
      return new Promise(() => {});
    };
    const stop = new AbortController();
    const events = await startToolTurn(uses, createRecordingTool({ run: endless }), stop.signal);
    await waitForEvent(events, "tool_call");
    const next = events.next();
    await acting.promise;
    stop.abort();
    const after = await failAfter(SOON_MS, drainEvents(next, events));
    assert.ok(!after.some(({ type }) => type === "failed" || type === "tool_result"));
  });
}

/** A tool that records its arguments. */
function createRecordingTool(more: Partial<Tool> = {}): Tool & { readonly given: unknown[] } {
  const given: unknown[] = [];
  return {
    given,
    name: "keep",
    description: "Keeps a word.",
    input: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
    effect: "external",
    async run(what) {
      given.push(what);
      return { parts: [textPart("kept")] };
    },
    ...more,
  };
}

async function startToolTurn(
  uses: ToolCaller,
  tool: Tool,
  signal: AbortSignal = createAgentSignal(),
): Promise<AsyncIterator<AgentEvent>> {
  const { agent, said } = await uses(tool.name, ARGS);
  return agent.run(createAgentTurn(said, [tool]), signal)[Symbol.asyncIterator]();
}
