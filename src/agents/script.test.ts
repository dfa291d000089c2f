import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../ports/agent.ts";
import { script } from "./script.ts";

const TEN_MINUTES = 600_000;

async function events(
  json: unknown,
  said: string,
  signal = new AbortController().signal,
): Promise<AgentEvent[]> {
  const heard: AgentEvent[] = [];
  for await (const event of run(json, said, signal)) heard.push(event);
  return heard;
}

function run(json: unknown, said: string, signal: AbortSignal): AsyncIterable<AgentEvent> {
  const message = {
    session: "s",
    seq: 1,
    at: 0,
    role: "user",
    parts: [{ type: "text", text: said }],
  } as const;
  return script(json).run({ session: "s", blob: async () => undefined, history: [message] }, signal);
}

const text = (words: string): AgentEvent => ({ type: "text", text: words });

describe("a script", () => {
  const greetings = {
    answers: [
      { to: "^hello", say: ["Good ", { wait_ms: 0 }, "morning"] },
      { to: "LÜBECK", say: "A town." },
      { say: "What?" },
    ],
  };

  it("gives the first answer whose pattern is found in what was said last, piece by piece", async () => {
    expect(await events(greetings, "Hello you")).toEqual([text("Good "), text("morning")]);
    expect(await events(greetings, "where is lübeck?")).toEqual([text("A town.")]);
    expect(await events(greetings, "oh, hello")).toEqual([text("What?")]);
    const history = ["hello", "and?"].map(
      (words, at) =>
        ({ session: "s", seq: at, at: 0, role: "user", parts: [{ type: "text", text: words }] }) as const,
    );
    const heard = [];
    for await (const event of script(greetings).run(
      { session: "s", blob: async () => undefined, history },
      new AbortController().signal,
    ))
      heard.push(event);
    expect(heard).toEqual([text("What?")]);
  });

  it("says so when it has no answer", async () => {
    expect(await events({ answers: [] }, "x")).toEqual([
      { type: "failed", reason: "The script has no answer to that." },
    ]);
  });

  it("fails where it is told to: what came before was said, what comes after is not", async () => {
    const answers = [{ say: ["Well, ", { fail: "No line." }, "never said"], usage: { input_tokens: 1 } }];
    expect(await events({ answers }, "x")).toMatchObject([
      text("Well, "),
      { type: "failed", reason: "No line." },
      { type: "usage", usage: { inputTokens: 1 } },
    ]);
  });

  it("reports what was used, and nothing that it does not name", async () => {
    const [, used] = await events(
      { answers: [{ say: "x", usage: { input_tokens: 7, output_tokens: 2, model: "m" } }] },
      "x",
    );
    expect(used).toMatchObject({ type: "usage", usage: { inputTokens: 7, outputTokens: 2, model: "m" } });
    expect(used?.type === "usage" && Object.keys(used.usage)).not.toContain("lastPromptTokens");
    expect(used?.type === "usage" && Object.keys(used.usage)).not.toContain("costStatus");
    const whole = { last_prompt_tokens: 5, cost_status: "exact", estimated_cost_usd: 0.5 };
    const [, exact] = await events({ answers: [{ say: "x", usage: whole }] }, "x");
    expect(exact).toMatchObject({ usage: { lastPromptTokens: 5, costStatus: "exact", costUsd: 0.5 } });
  });

  it("ends at once when it is stopped, also in the middle of a long wait", async () => {
    const answers = [{ say: ["Wait ", { wait_ms: TEN_MINUTES }, "done"], usage: { input_tokens: 1 } }];
    const abort = new AbortController();
    const heard: AgentEvent[] = [];
    const iterator = run({ answers }, "x", abort.signal)[Symbol.asyncIterator]();
    heard.push((await iterator.next()).value as AgentEvent);
    const rest = iterator.next(); // waits now
    abort.abort();
    expect(await rest).toMatchObject({ done: true });
    expect(heard).toEqual([text("Wait ")]);
    expect(await events({ answers }, "x", AbortSignal.abort())).toEqual([]);
  });

  it.each([
    [[], "script"],
    ["hello", "script"],
    [{}, "answers"],
    [{ answers: {} }, "answers"],
    [{ answers: ["x"] }, "answers[0]"],
    [{ answers: [{}] }, "answers[0].say"],
    [{ answers: [{ say: "x" }, { to: "(", say: "x" }] }, "answers[1].to"],
    [{ answers: [{ to: 7, say: "x" }] }, "answers[0].to"],
    [{ answers: [{ to: null, say: "x" }] }, "answers[0].to"],
    [{ answers: [{ say: ["x", 7] }] }, "answers[0].say[1]"],
    [{ answers: [{ say: [{ wait: 7 }] }] }, "answers[0].say[0]"],
    [{ answers: [{ say: [{ wait_ms: -1 }] }] }, "answers[0].say[0]"],
    [{ answers: [{ say: [{ wait_ms: 1e12 }] }] }, "answers[0].say[0]"],
    [{ answers: [{ say: [{ fail: "" }] }] }, "answers[0].say[0]"],
    [{ answers: [{ say: [{ fail: 7 }] }] }, "answers[0].say[0]"],
    [{ answers: [{ say: "x", usage: 7 }] }, "answers[0].usage"],
    [{ answers: [{ say: "x", usage: { input_tokens: -1 } }] }, "answers[0].usage.input_tokens"],
    [{ answers: [{ say: "x", usage: { model: 7 } }] }, "answers[0].usage.model"],
  ])("that is wrong is refused with the name of the field: %j", (json, field) => {
    expect(() => script(json)).toThrow(expect.objectContaining({ code: "invalid_input" }));
    expect(() => script(json)).toThrow(new RegExp(`^${field.replaceAll(/[[\].]/g, "\\$&")} `));
  });
});
