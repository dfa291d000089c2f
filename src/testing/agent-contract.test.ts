import { describe, expect, it } from "vitest";
import type { Agent, AgentEvent } from "../ports/agent.ts";
import { type AgentHarness, agentContract } from "./agent-contract.ts";
import type { TestBody } from "./skip-rule.ts";

type Run = Agent["run"];

/** The rules that an agent breaks. */
async function broken(harness: Partial<AgentHarness>): Promise<string[]> {
  const rules: (readonly [string, TestBody])[] = [];
  const api = {
    describe: (_: string, body: () => void) => body(),
    it: (name: string, body: TestBody) => rules.push([name, body]),
  };
  agentContract(api, { answers: async () => asked(good), ...harness });
  const failed: string[] = [];
  for (const [name, proof] of rules) {
    await proof({ skip: () => {} }).catch(() => failed.push(name));
  }
  return failed;
}

const asked = (run: Run) => ({ agent: { name: "test", run }, said: "x", answer: "ab" });
const say = (words: string): AgentEvent => ({ type: "text", text: words });
const good: Run = async function* (_, signal) {
  if (signal.aborted) return;
  yield say("a");
  yield say("b");
};

describe("the contract of agents", () => {
  it("passes for a correct agent", async () => {
    expect(await broken({})).toEqual([]);
  });

  it("detects a wrong answer, usage that is counted twice, and invalid usage", async () => {
    const other: Run = async function* () {
      yield say("c");
    };
    expect(await broken({ answers: async () => asked(other) })).toContain(
      "is the pieces of its text, joined",
    );
    for (const tokens of [[1, 1], [-1]]) {
      const counting: Run = async function* (turn, signal) {
        yield* good(turn, signal);
        for (const inputTokens of tokens) yield { type: "usage", usage: { inputTokens } };
      };
      expect(await broken({ answers: async () => asked(counting) })).toEqual([
        "counts each call of a model once at most, in numbers that can be added",
      ]);
    }
  });

  it("detects an agent that mixes concurrent turns, and one that changes its input", async () => {
    let mine = "";
    const mixing: Run = async function* (_, signal) {
      if (signal.aborted) return;
      mine = "";
      for (const letter of ["a", "b"]) {
        mine += letter;
        await null;
      }
      yield say(mine);
    };
    expect(await broken({ answers: async () => asked(mixing) })).toEqual([
      "to one is not mixed with the answer to another, asked at the same time",
    ]);
    const changing: Run = async function* (turn, signal) {
      (turn.history as unknown[]).push({});
      yield* good(turn, signal);
    };
    expect(await broken({ answers: async () => asked(changing) })).toEqual([
      "leaves what it was given as it was",
    ]);
  });

  it("detects an agent that does not stop, and one that reports a stop as a failure", async () => {
    const deaf: Run = async function* () {
      yield say("a");
      await new Promise(() => {});
    };
    expect(await broken({ endless: async () => asked(deaf) })).toContain(
      "ends the answer soon, without an error, and says no more",
    );
    const hurt: Run = async function* (_, signal) {
      yield say("a");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      yield { type: "failed", reason: "Aborted." };
    };
    expect(await broken({ endless: async () => asked(hurt) })).toEqual([
      "ends the answer soon, without an error, and says no more",
    ]);
  });

  it("detects a failure that is thrown", async () => {
    // biome-ignore lint/correctness/useYield: it throws before its first value
    const throwing: Run = async function* () {
      throw new Error("503");
    };
    expect(await broken({ fails: async () => asked(throwing) })).toEqual([
      "is told in a sentence, and never thrown",
    ]);
  });

  it("detects a tool that runs before the call could be stored", async () => {
    const acts = async () => {
      let acted = false;
      const hasty: Run = async function* (_, signal) {
        if (signal.aborted) return;
        acted = true;
        yield { type: "tool_call", call: { id: "1", name: "t", arguments: {} } };
        if (!signal.aborted) yield { type: "tool_result", id: "1", name: "t", parts: [] };
      };
      return { ...asked(hasty), acted: () => acted };
    };
    expect(await broken({ acts })).toEqual([
      "acts only when the next event is asked for",
      "does not act when it is stopped between the call and the act",
    ]);
  });

  it("detects an agent that does not wait for its approval", async () => {
    const impatient: Run = async function* () {
      yield { type: "approval", request: { title: "May I?" }, answer: () => {} };
      yield say("Done.");
    };
    const failed = await broken({ asks: async () => asked(impatient) });
    expect(failed).toHaveLength(5);
    expect(failed[0]).toMatch(/^holds it up/);
  });

  it("detects an agent that runs a tool without its approval, before its call event, or after a refusal", async () => {
    const uses = async (name: string, given: Readonly<Record<string, unknown>>) => {
      const hasty: Run = async function* ({ tools = [] }, signal) {
        tools[0]?.run(given, { id: "1", signal }).catch(() => {});
        yield { type: "tool_call", call: { id: "1", name, arguments: given } };
        yield { type: "tool_result", id: "1", name, parts: [] };
      };
      return asked(hasty);
    };
    const failed = await broken({ uses });
    expect(failed).toHaveLength(7);
    expect(failed[0]).toMatch(/^acts only when/);
  });
});
