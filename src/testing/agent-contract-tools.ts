import assert from "node:assert/strict";
import { text } from "../core/message.ts";
import type { AgentEvent } from "../ports/agent.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { type AgentCase, drained, never, SOON_MS, ticks, turnOf, until, within } from "./agent-scene.ts";

type Rule = (promise: string, proof: () => Promise<void>) => void;
type Uses = (name: string, given: Readonly<Record<string, unknown>>) => Promise<AgentCase>;

const GIVEN = { word: "saddle" };

/** What must hold when an agent calls a tool that it did not bring itself. */
export function toolRules(rule: Rule, uses: Uses): void {
  rule("acts only when the next event is asked for, on what the agent gave it", async () => {
    const tool = keeping();
    const events = await begun(uses, tool);
    const { call } = await until(events, "tool_call");
    assert.deepEqual(
      { name: call.name, arguments: call.arguments, effect: call.effect },
      { name: tool.name, arguments: GIVEN, effect: "external" },
    );
    await ticks();
    assert.deepEqual(tool.given, [], "it has acted before anybody could store the call");
    const result = await until(events, "tool_result");
    assert.deepEqual(result, { type: "tool_result", id: call.id, name: tool.name, parts: [text("kept")] });
    assert.deepEqual(tool.given, [GIVEN]);
    await drained(events.next(), events);
  });

  rule("asks first where it wants to, and acts when it may", async () => {
    const tool = keeping({ asks: () => ({ title: "Keep it?" }) });
    const events = await begun(uses, tool);
    const asked = await until(events, "approval");
    assert.equal(asked.request.title, "Keep it?");
    asked.answer("once");
    await until(events, "tool_call");
    await drained(events.next(), events);
    assert.deepEqual(tool.given, [GIVEN]);
  });

  for (const answer of ["deny", "never"] as const) {
    rule(`does not act when the person says ${answer}: that is a call with a failed result`, async () => {
      const tool = keeping({ asks: () => ({ title: "Keep it?" }) });
      const events = await begun(uses, tool);
      (await until(events, "approval")).answer(answer);
      const { call } = await until(events, "tool_call");
      const result = await until(events, "tool_result");
      assert.deepEqual([result.id, result.failed], [call.id, true]);
      await drained(events.next(), events);
      assert.deepEqual(tool.given, []);
    });
  }

  rule("that throws has failed, and the agent goes on", async () => {
    const events = await begun(uses, keeping({ run: () => Promise.reject(new Error("It broke.")) }));
    assert.equal((await until(events, "tool_result")).failed, true);
    await drained(events.next(), events);
  });

  rule("is not there: its call has failed, and the agent goes on", async () => {
    const { agent, said } = await uses("keep", GIVEN);
    const events = agent.run(turnOf(said), never())[Symbol.asyncIterator]();
    assert.equal((await until(events, "tool_result")).failed, true);
    await drained(events.next(), events);
  });

  rule("that does not end by itself does not keep the agent from being stopped", async () => {
    const acting = Promise.withResolvers<void>();
    const endless = (): Promise<ToolOutput> => {
      acting.resolve();
      return new Promise(() => {});
    };
    const stop = new AbortController();
    const events = await begun(uses, keeping({ run: endless }), stop.signal);
    await until(events, "tool_call");
    const next = events.next();
    await acting.promise;
    stop.abort();
    const after = await within(SOON_MS, drained(next, events));
    assert.ok(!after.some(({ type }) => type === "failed" || type === "tool_result"));
  });
}

/** A tool that keeps what it was given. */
function keeping(more: Partial<Tool> = {}): Tool & { readonly given: unknown[] } {
  const given: unknown[] = [];
  return {
    given,
    name: "keep",
    description: "Keeps a word.",
    input: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
    effect: "external",
    async run(what) {
      given.push(what);
      return { parts: [text("kept")] };
    },
    ...more,
  };
}

async function begun(
  uses: Uses,
  tool: Tool,
  signal: AbortSignal = never(),
): Promise<AsyncIterator<AgentEvent>> {
  const { agent, said } = await uses(tool.name, GIVEN);
  return agent.run(turnOf(said, [tool]), signal)[Symbol.asyncIterator]();
}
