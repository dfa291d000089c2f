import assert from "node:assert/strict";
import { addUsage, emptyUsage } from "../core/usage.ts";
import { defineToolRules } from "./agent-contract-tools.ts";
import {
  type AgentCase,
  collectEvents,
  createAgentSignal,
  createAgentTurn,
  deepFreeze,
  drainEvents,
  failAfter,
  joinEventText,
  runAgent,
  SOON_MS,
  startAgent,
  waitForEvent,
  waitTicks,
} from "./agent-scene.ts";
import type { TestApi } from "./scene.ts";
import { createTestBody, requirePart } from "./skip-rule.ts";

export type { AgentCase } from "./agent-scene.ts";

/** Provides the agents under test. Without an optional method, the rules that need it are skipped. */
export interface AgentHarness {
  /** An agent that answers with exactly `answer`, after `calls` requests to a model. */
  answers(): Promise<AgentCase & { readonly answer: string; readonly calls?: number }>;
  /** An agent that starts to answer and never ends by itself. */
  endless?(): Promise<AgentCase>;
  /** An agent whose model fails. */
  fails?(): Promise<AgentCase>;
  /** An agent that calls a tool. `acted` returns whether the tool has run. */
  acts?(): Promise<AgentCase & { acted(): boolean }>;
  /** An agent that requests an approval. */
  asks?(): Promise<AgentCase>;
  /** An agent that calls the turn's tool of this name once with these arguments, and ends after any result. */
  uses?(name: string, given: Readonly<Record<string, unknown>>): Promise<AgentCase>;
  /** Called after each test. */
  destroy?(): Promise<void>;
}

/** Long enough for a process to start and write a file. After this time, the tool was certainly not run. */
const TIME_TO_ACT_MS = 150;

/** Defines a test for every rule of the agent port. An agent is complete when they pass. */
export function agentContract({ describe, it }: TestApi, harness: AgentHarness): void {
  const rule = (promise: string, proof: () => Promise<void>): void => {
    const run = async (): Promise<void> => {
      try {
        await proof();
      } finally {
        await harness.destroy?.();
      }
    };
    it(promise, createTestBody(promise, run));
  };

  describe("an answer", () => {
    rule("consists of its text events, joined", async () => {
      const { answer, ...asked } = await harness.answers();
      assert.equal(joinEventText(await runAgent(asked)), answer);
    });

    rule("reports each model request at most once, with numbers that can be added", async () => {
      const { calls = 1, ...asked } = await harness.answers();
      const used = (await runAgent(asked)).flatMap((event) => (event.type === "usage" ? [event.usage] : []));
      assert.ok(used.length <= calls, `${used.length} reports of ${calls} calls`);
      used.reduce(addUsage, emptyUsage());
    });

    rule("is not mixed with the answer of a concurrent turn", async () => {
      const { answer, ...asked } = await harness.answers();
      const both = await Promise.all([runAgent(asked), runAgent(asked)]);
      assert.deepEqual(both.map(joinEventText), [answer, answer]);
    });

    rule("does not change its input", async () => {
      const { agent, said } = await harness.answers();
      const turn = createAgentTurn(said);
      for (const message of turn.history) deepFreeze(message);
      Object.freeze(turn.history);
      await collectEvents(agent.run(turn, createAgentSignal()));
    });
  });

  describe("stopping", () => {
    rule("before the start produces nothing and ends", async () => {
      const { agent, said } = await harness.answers();
      const events = await failAfter(
        SOON_MS,
        collectEvents(agent.run(createAgentTurn(said), AbortSignal.abort())),
      );
      assert.deepEqual(
        events.filter((event) => event.type !== "usage"),
        [],
      );
    });

    const endless = () => requirePart(harness.endless, "the agent always ends by itself")();
    rule("ends the answer soon, without an error and without further events", async () => {
      const { agent, said } = await endless();
      const stop = new AbortController();
      const events = startAgent(agent, said, stop.signal);
      assert.equal((await events.next()).done, false);
      const next = events.next();
      stop.abort();
      const rest = await failAfter(SOON_MS, drainEvents(next, events));
      // One event may have been in progress.
      const after = rest.filter((event) => event.type !== "usage");
      assert.ok(after.length <= 1, `${after.length} events after it was stopped`);
      assert.ok(!after.some((event) => event.type === "failed"), "being stopped is no failure");
    });

    rule("by closing the iterator also ends it", async () => {
      const { agent, said } = await endless();
      const stop = new AbortController();
      const events = startAgent(agent, said, stop.signal);
      await events.next();
      stop.abort();
      await failAfter(SOON_MS, Promise.resolve(events.return?.()));
    });
  });

  const fails = () => requirePart(harness.fails, "the agent has no model that could fail")();
  describe("a failure of the model", () => {
    rule("is an event with a sentence, never an exception", async () => {
      const failed = (await runAgent(await fails())).filter((event) => event.type === "failed");
      assert.equal(failed.length, 1);
      assert.match(failed[0]?.reason ?? "", /\p{L}.*[.!?]$/su);
    });
  });

  const acts = () => requirePart(harness.acts, "the agent brings no tools of its own")();
  describe("a tool", () => {
    rule("runs only when the next event is requested", async () => {
      const { agent, said, acted } = await acts();
      const events = startAgent(agent, said);
      await waitForEvent(events, "tool_call");
      await new Promise((resolve) => setTimeout(resolve, TIME_TO_ACT_MS));
      assert.equal(acted(), false, "the tool ran before the call could be stored");
      await waitForEvent(events, "tool_result");
      assert.equal(acted(), true);
      await events.return?.();
    });

    rule("does not run when the agent is stopped after the call event", async () => {
      const { agent, said, acted } = await acts();
      const stop = new AbortController();
      const events = startAgent(agent, said, stop.signal);
      await waitForEvent(events, "tool_call");
      stop.abort();
      await failAfter(SOON_MS, drainEvents(events.next(), events));
      await new Promise((resolve) => setTimeout(resolve, TIME_TO_ACT_MS));
      assert.equal(acted(), false);
    });

    rule("has one result for each call, after it and with the same id and name", async () => {
      const open = new Map<string, string>();
      for (const event of await runAgent(await acts())) {
        if (event.type === "tool_call") {
          assert.ok(event.call.id !== "" && event.call.name !== "" && !open.has(event.call.id));
          open.set(event.call.id, event.call.name);
        } else if (event.type === "tool_result") {
          assert.equal(event.name, open.get(event.id));
          open.delete(event.id);
        }
      }
      assert.deepEqual([...open], []);
    });
  });

  const asks = () => requirePart(harness.asks, "the agent asks nothing by itself")();
  describe("an approval request", () => {
    for (const answer of ["once", "session", "always", "deny", "never"] as const) {
      rule(`blocks the agent until it is answered (${answer}), then the agent ends`, async () => {
        const { agent, said } = await asks();
        const events = startAgent(agent, said);
        const asked = await waitForEvent(events, "approval");
        assert.notEqual(asked.request.title, "");
        const next = events.next();
        assert.equal(await Promise.race([next.then(() => "went on"), waitTicks()]), "waits");
        asked.answer(answer);
        asked.answer("deny"); // the first counts
        await drainEvents(next, events);
      });
    }

    rule("without an answer does not prevent the agent from stopping", async () => {
      const { agent, said } = await asks();
      const stop = new AbortController();
      const events = startAgent(agent, said, stop.signal);
      await waitForEvent(events, "approval");
      const next = events.next();
      stop.abort();
      await failAfter(SOON_MS, drainEvents(next, events));
    });
  });

  describe("a tool that the turn offers", () =>
    defineToolRules(rule, (...given) =>
      requirePart(harness.uses, "the agent calls no tools of the turn")(...given),
    ));
}
