import assert from "node:assert/strict";
import { type Message, text } from "../core/message.ts";
import { addUsage, emptyUsage } from "../core/usage.ts";
import type { Agent, AgentEvent, AgentTurn } from "../ports/agent.ts";
import type { TestApi } from "./scene.ts";

/** An agent, and what has to be said to it so that it does what the rule is about. */
export interface AgentCase {
  readonly agent: Agent;
  readonly said: string;
}

/** How the suite gets agents of the kind under test. What it cannot do is left out, and so are the rules about it. */
export interface AgentHarness {
  /** It answers with exactly these words, after so many calls of a model. */
  answers(): Promise<AgentCase & { readonly answer: string; readonly calls?: number }>;
  /** It begins to answer and does not end by itself. */
  endless?(): Promise<AgentCase>;
  /** Its model fails. */
  fails?(): Promise<AgentCase>;
  /** It calls a tool; `acted` tells whether that has done anything. */
  acts?(): Promise<AgentCase & { acted(): boolean }>;
  /** It asks whether it may. */
  asks?(): Promise<AgentCase>;
  /** Called after each test. */
  destroy?(): Promise<void>;
}

/** Whoever stopped an agent waits no longer. */
const SOON_MS = 1000;
/** Long enough for a program to start and write a file: only what has not happened by then was truly not begun. */
const TIME_TO_ACT_MS = 150;

/** Every rule of the agent port, as tests. An agent is finished when they pass. */
export function agentContract({ describe, it }: TestApi, harness: AgentHarness): void {
  const rule = (promise: string, proof: () => Promise<void>): void => {
    it(promise, async () => {
      try {
        await proof();
      } finally {
        await harness.destroy?.();
      }
    });
  };

  describe("an answer", () => {
    rule("is the pieces of its text, joined", async () => {
      const { answer, ...asked } = await harness.answers();
      assert.equal(textIn(await all(asked)), answer);
    });

    rule("counts each call of a model once at most, in numbers that can be added", async () => {
      const { calls = 1, ...asked } = await harness.answers();
      const used = (await all(asked)).flatMap((event) => (event.type === "usage" ? [event.usage] : []));
      assert.ok(used.length <= calls, `${used.length} reports of ${calls} calls`);
      used.reduce(addUsage, emptyUsage());
    });

    rule("to one is not mixed with the answer to another, asked at the same time", async () => {
      const { answer, ...asked } = await harness.answers();
      const both = await Promise.all([all(asked), all(asked)]);
      assert.deepEqual(both.map(textIn), [answer, answer]);
    });

    rule("leaves what it was given as it was", async () => {
      const { agent, said } = await harness.answers();
      const turn = turnOf(said);
      for (const message of turn.history) deepFreeze(message);
      Object.freeze(turn.history);
      await collect(agent.run(turn, never()));
    });
  });

  describe("stopping", () => {
    rule("before anything was asked: says nothing, does nothing, and ends", async () => {
      const { agent, said } = await harness.answers();
      const events = await within(SOON_MS, collect(agent.run(turnOf(said), AbortSignal.abort())));
      assert.deepEqual(
        events.filter((event) => event.type !== "usage"),
        [],
      );
    });

    const { endless } = harness;
    if (endless !== undefined) {
      rule("ends the answer soon, without an error, and says no more", async () => {
        const { agent, said } = await endless();
        const stop = new AbortController();
        const events = eventsOf(agent, said, stop.signal);
        assert.equal((await events.next()).done, false);
        const next = events.next();
        stop.abort();
        const rest = await within(SOON_MS, drained(next, events));
        // One may have been on its way.
        const after = rest.filter((event) => event.type !== "usage");
        assert.ok(after.length <= 1, `${after.length} events after it was stopped`);
        assert.ok(!after.some((event) => event.type === "failed"), "being stopped is no failure");
      });

      rule("by going away ends it, too", async () => {
        const { agent, said } = await endless();
        const stop = new AbortController();
        const events = eventsOf(agent, said, stop.signal);
        await events.next();
        stop.abort();
        await within(SOON_MS, Promise.resolve(events.return?.()));
      });
    }
  });

  const { fails } = harness;
  if (fails !== undefined) {
    describe("a failure of the model", () => {
      rule("is told in a sentence, and never thrown", async () => {
        const failed = (await all(await fails())).filter((event) => event.type === "failed");
        assert.equal(failed.length, 1);
        assert.match(failed[0]?.reason ?? "", /\p{L}.*[.!?]$/su);
      });
    });
  }

  const { acts } = harness;
  if (acts !== undefined) {
    describe("a tool", () => {
      rule("acts only when the next event is asked for", async () => {
        const { agent, said, acted } = await acts();
        const events = eventsOf(agent, said);
        await until(events, "tool_call");
        await new Promise((resolve) => setTimeout(resolve, TIME_TO_ACT_MS));
        assert.equal(acted(), false, "it has acted before anybody could store the call");
        await until(events, "tool_result");
        assert.equal(acted(), true);
        await events.return?.();
      });

      rule("does not act when it is stopped between the call and the act", async () => {
        const { agent, said, acted } = await acts();
        const stop = new AbortController();
        const events = eventsOf(agent, said, stop.signal);
        await until(events, "tool_call");
        stop.abort();
        await within(SOON_MS, drained(events.next(), events));
        await new Promise((resolve) => setTimeout(resolve, TIME_TO_ACT_MS));
        assert.equal(acted(), false);
      });

      rule("has one result for each call, of the same id and name, behind it", async () => {
        const open = new Map<string, string>();
        for (const event of await all(await acts())) {
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
  }

  const { asks } = harness;
  if (asks !== undefined) {
    describe("a question", () => {
      for (const answer of ["once", "session", "always", "deny"] as const) {
        rule(`holds it up until it is answered (${answer}), and then it comes to an end`, async () => {
          const { agent, said } = await asks();
          const events = eventsOf(agent, said);
          const asked = await until(events, "approval");
          assert.notEqual(asked.request.title, "");
          const next = events.next();
          assert.equal(await Promise.race([next.then(() => "went on"), ticks()]), "waits");
          asked.answer(answer);
          asked.answer("deny"); // the first counts
          await drained(next, events);
        });
      }

      rule("that nobody answers does not keep it from being stopped", async () => {
        const { agent, said } = await asks();
        const stop = new AbortController();
        const events = eventsOf(agent, said, stop.signal);
        await until(events, "approval");
        const next = events.next();
        stop.abort();
        await within(SOON_MS, drained(next, events));
      });
    });
  }
}

function turnOf(said: string): AgentTurn {
  const message: Message = { session: "s", seq: 1, at: 0, role: "user", parts: [text(said)] };
  return { session: "s", history: [message], blob: async () => undefined };
}

function never(): AbortSignal {
  return new AbortController().signal;
}

function eventsOf(agent: Agent, said: string, signal: AbortSignal = never()): AsyncIterator<AgentEvent> {
  return agent.run(turnOf(said), signal)[Symbol.asyncIterator]();
}

function all({ agent, said }: AgentCase): Promise<AgentEvent[]> {
  return collect(agent.run(turnOf(said), never()));
}

async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const found: AgentEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** What comes from here on. */
async function drained(
  first: Promise<IteratorResult<AgentEvent>>,
  events: AsyncIterator<AgentEvent>,
): Promise<AgentEvent[]> {
  const found: AgentEvent[] = [];
  for (let step = await first; step.done !== true; step = await events.next()) found.push(step.value);
  return found;
}

async function until<Type extends AgentEvent["type"]>(
  events: AsyncIterator<AgentEvent>,
  type: Type,
): Promise<Extract<AgentEvent, { readonly type: Type }>> {
  for (;;) {
    const step = await events.next();
    assert.ok(step.done !== true, `it ended without a ${type}`);
    if (step.value.type === type) return step.value as Extract<AgentEvent, { readonly type: Type }>;
  }
}

function textIn(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}

async function within<T>(ms: number, happens: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: `not within ${ms} ms` })), ms);
  });
  try {
    return await Promise.race([happens, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Some turns of the event loop, in which whatever does not wait would go on. */
async function ticks(): Promise<"waits"> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return "waits";
}

function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
}
