import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../test/support/folder.ts";
import type { Part } from "../core/message.ts";
import type { AgentEvent, AgentTurn } from "../ports/agent.ts";
import type { Terminal } from "../ports/terminal.ts";
import { script } from "./script.ts";

const TEN_MINUTES = 600_000;

async function events(
  json: unknown,
  input: string,
  signal: AbortSignal | undefined = new AbortController().signal,
  more: Partial<AgentTurn> = {},
): Promise<AgentEvent[]> {
  const heard: AgentEvent[] = [];
  for await (const event of run(json, input, signal, more)) heard.push(event);
  return heard;
}

function run(
  json: unknown,
  input: string,
  signal: AbortSignal,
  more: Partial<AgentTurn> = {},
): AsyncIterable<AgentEvent> {
  const message = {
    session: "s",
    seq: 1,
    at: 0,
    role: "user",
    parts: [{ type: "text", text: input }],
  } as const;
  const turn = { session: "s", blob: async () => undefined, history: [message], ...more };
  return script(json).run(turn, signal);
}

const text = (words: string): AgentEvent => ({ type: "text", text: words });
const part = (words: string): Part => ({ type: "text", text: words });

describe("a script", () => {
  const greetings = {
    answers: [
      { to: "^hello", say: ["Good ", { wait_ms: 0 }, "morning"] },
      { to: "LÜBECK", say: "A town." },
      { say: "What?" },
    ],
  };

  it("gives the first answer whose pattern matches the last message, piece by piece", async () => {
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

  it("fails if it has no answer", async () => {
    expect(await events({ answers: [] }, "x")).toEqual([
      { type: "failed", reason: "The script has no answer to that." },
    ]);
  });

  it("fails at a fail piece: earlier pieces are sent, later ones are not", async () => {
    const answers = [{ say: ["Well, ", { fail: "No line." }, "never said"], usage: { input_tokens: 1 } }];
    expect(await events({ answers }, "x")).toMatchObject([
      text("Well, "),
      { type: "failed", reason: "No line." },
      { type: "usage", usage: { inputTokens: 1 } },
    ]);
  });

  it("reports the usage, without fields that it does not name", async () => {
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

  it("ends at once when it is stopped, even in the middle of a long wait", async () => {
    const answers = [{ say: ["Wait ", { wait_ms: TEN_MINUTES }, "done"], usage: { input_tokens: 1 } }];
    const abort = new AbortController();
    const heard: AgentEvent[] = [];
    const iterator = run({ answers }, "x", abort.signal)[Symbol.asyncIterator]();
    heard.push((await iterator.next()).value as AgentEvent);
    const rest = iterator.next(); // pending
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
    [{ answers: [{ say: [{ wait_ms: -1 }] }] }, "answers[0].say[0].wait_ms"],
    [{ answers: [{ say: [{ wait_ms: 1e12 }] }] }, "answers[0].say[0].wait_ms"],
    [{ answers: [{ say: [{ fail: "" }] }] }, "answers[0].say[0].fail"],
    [{ answers: [{ say: [{ fail: 7 }] }] }, "answers[0].say[0].fail"],
    [{ answers: [{ say: "x", usage: 7 }] }, "answers[0].usage"],
    [{ answers: [{ say: "x", usage: { input_tokens: -1 } }] }, "answers[0].usage.input_tokens"],
    [{ answers: [{ say: "x", usage: { model: 7 } }] }, "answers[0].usage.model"],
  ])("is refused with the name of the invalid field: %j", (json, field) => {
    expect(() => script(json)).toThrow(expect.objectContaining({ code: "invalid_input" }));
    expect(() => script(json)).toThrow(new RegExp(`^${field.replaceAll(/[[\].]/g, "\\$&")} `));
  });
});

describe("a script with tools", () => {
  const acting = (...say: readonly unknown[]): unknown => ({ answers: [{ say }] });

  it("emits thoughts and plans, repeats pieces, echoes, and starts a new message", async () => {
    const plan = ["saddle", { text: "ride", state: "in_progress" }];
    const say = [
      { think: "Hm." },
      { plan },
      { repeat: 2, say: ["a", "b"] },
      { message: true },
      { echo: true },
    ];
    expect(await events(acting(...say), "hello")).toEqual([
      { type: "thought", text: "Hm." },
      {
        type: "plan",
        entries: [
          { text: "saddle", state: "pending" },
          { text: "ride", state: "in_progress" },
        ],
      },
      ...[text("a"), text("b"), text("a"), text("b")],
      { type: "message" },
      text("hello"),
    ]);
  });

  it("emits a tool's call and result, and runs its command with the message as input", async () => {
    const ride = { tool: "ride", arguments: { to: "Lübeck" }, effect: "none", run: ["tr", "a-z", "A-Z"] };
    expect(await events(acting(ride, { tool: "rest", result: "rested" }, "done"), "go on")).toEqual([
      { type: "tool_call", call: { id: "script-1-1", name: "ride", arguments: { to: "Lübeck" } } },
      { type: "tool_result", id: "script-1-1", name: "ride", parts: [part("GO ON")] },
      { type: "tool_call", call: { id: "script-1-2", name: "rest", arguments: {} } },
      { type: "tool_result", id: "script-1-2", name: "rest", parts: [part("rested")] },
      text("done"),
    ]);
  });

  it("marks a command as an external effect by default", async () => {
    const [call] = await events(acting({ tool: "x", run: ["true"] }), "x");
    expect(call).toMatchObject({ call: { effect: "external" } });
    const [event] = await events(acting({ tool: "x", effect: "external", result: "r" }), "x");
    expect(event).toMatchObject({ call: { effect: "external" } });
  });

  it.each([
    [
      "cannot be started",
      ["/no/such/program"],
      {},
      /^\/no\/such\/program could not be started \(ENOENT\)\.$/,
    ],
    ["fails", ["sh", "-c", "echo half; echo why >&2; exit 3"], {}, /^half\nwhy\nsh ended with code 3\.$/],
    [
      "takes too long",
      ["sh", "-c", "echo begun; sleep 60"],
      { timeout_ms: 100 },
      /^begun\nsh did not end within 0\.1 s\.$/,
    ],
    [
      "takes too long and ignores SIGTERM",
      ["sh", "-c", "trap '' TERM; sleep 60 & wait; sleep 60"],
      { timeout_ms: 100 },
      /within 0\.1 s/,
    ],
  ])("continues with a failed result when its command %s", async (_, run, more, words) => {
    const [, result, rest] = await events(acting({ tool: "x", run, ...more }, "on"), "x");
    expect(result).toMatchObject({ type: "tool_result", failed: true });
    expect(result?.type === "tool_result" && result.parts[0]).toMatchObject({
      text: expect.stringMatching(words),
    });
    expect(rest).toEqual(text("on"));
  });

  it("gives its commands no keys, and does not wait for their children", async () => {
    process.env.POSTRIDER_TEST_KEY = "secret";
    onTestFinished(() => void delete process.env.POSTRIDER_TEST_KEY);
    const run = ["sh", "-c", "sleep 30 & env"];
    const [, result] = await events(acting({ tool: "x", run }), "x");
    const words = result?.type === "tool_result" && result.parts[0]?.type === "text" && result.parts[0].text;
    expect(words).toContain("PATH=");
    expect(words).not.toContain("secret");
  });

  it("ends its command with all descendants when it is stopped, even if they ignore SIGTERM", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const pids = join(folder.path, "pids");
    const deaf = `trap '' TERM; (trap '' TERM; echo $$ >> ${pids}; sh -c 'echo $$' >> ${pids}; sleep 60) & echo ok >> ${pids}; wait; sleep 60`;
    const abort = new AbortController();
    const iterator = run(acting({ tool: "x", run: ["sh", "-c", deaf] }), "x", abort.signal)[
      Symbol.asyncIterator
    ]();
    await iterator.next();
    const acted = iterator.next();
    await expect.poll(() => existsSync(pids) && readFileSync(pids, "utf8").split("\n").length > 3).toBe(true);
    const [group] = /\d+/.exec(readFileSync(pids, "utf8")) ?? [];
    expect(alive(group ?? "").length).toBeGreaterThan(1);
    const late = new Promise((resolve) => setTimeout(resolve, 900, "late"));
    abort.abort();
    const first = await Promise.race([acted, late]);
    expect(first).not.toBe("late");
    expect(first).toMatchObject({ done: true });
    await expect.poll(() => alive(group ?? "")).toEqual([]);
  });

  it("requests an approval: continues after a yes, and ends with a text after a no", async () => {
    const approve = { title: "Delete it?", detail: "rm x", pattern: "rm *" };
    const asking = acting({ approve, denied: "Then it stays." }, "Deleted.");
    const heard = async (answer: "once" | "deny"): Promise<AgentEvent[]> => {
      const found: AgentEvent[] = [];
      for await (const event of run(asking, "x", new AbortController().signal)) {
        if (event.type === "approval") {
          expect(event.request).toEqual(approve);
          event.answer(answer);
        } else found.push(event);
      }
      return found;
    };
    expect(await heard("once")).toEqual([text("Deleted.")]);
    expect(await heard("deny")).toEqual([text("Then it stays.")]);
  });

  it("treats never as a no", async () => {
    for await (const event of run(
      acting({ approve: { title: "x" } }, "Done."),
      "x",
      new AbortController().signal,
    )) {
      if (event.type === "approval") event.answer("never");
      else expect(event).toEqual(text("I was not allowed to: x"));
    }
  });

  it("can ignore the signal like an agent that breaks its contract", async () => {
    const abort = new AbortController();
    const iterator = run(acting("Well, ", { hang: true }), "x", abort.signal)[Symbol.asyncIterator]();
    await iterator.next();
    const rest = iterator.next();
    const tick = () => new Promise((resolve) => setImmediate(resolve, "hangs"));
    await tick();
    abort.abort();
    expect(await Promise.race([rest, tick()])).toBe("hangs");
  });

  it("runs its commands in the session's folder", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const [, result] = await events(acting({ tool: "x", run: ["pwd"] }), "x", undefined, {
      cwd: folder.path,
    });
    expect(result).toMatchObject({ parts: [part(`${folder.path}\n`)] });
  });

  it("runs its commands in the editor's terminal, if there is one", async () => {
    const commands: unknown[] = [];
    const terminal: Terminal = {
      async run(command) {
        commands.push(command);
        return { text: "shown", failed: commands.length > 1 };
      },
    };
    const say = acting({ tool: "x", run: ["make", "all"], timeout_ms: 7 }, { tool: "x", run: ["make"] });
    const found = await events(say, "x", undefined, { terminal, cwd: "/project" });
    expect(commands).toEqual([
      { call: "script-1-1", executable: "make", args: ["all"], cwd: "/project", timeoutMs: 7 },
      { call: "script-1-2", executable: "make", args: [], cwd: "/project", timeoutMs: 30_000 },
    ]);
    expect(found.filter(({ type }) => type === "tool_result")).toEqual([
      { type: "tool_result", id: "script-1-1", name: "x", parts: [part("shown")] },
      { type: "tool_result", id: "script-1-2", name: "x", parts: [part("shown")], failed: true },
    ]);
  });

  it("calls several tools at once: emits all calls before the first runs, each with its own result", async () => {
    const together = [{ tool: "a", result: "1" }, { use: "b" }, { tool: "a", result: "2" }];
    const found = await events(acting({ together }, "done"), "x");
    const ids = ["script-1-1", "script-1-2", "script-1-3"];
    expect(found.map((event) => (event.type === "tool_call" ? event.call.id : event.type))).toEqual([
      ...ids,
      "tool_result",
      "tool_result",
      "tool_result",
      "text",
    ]);
    expect(found.slice(3, 6)).toMatchObject([
      { id: ids[0], parts: [part("1")] },
      { id: ids[1], failed: true, parts: [part("There is no tool b.")] },
      { id: ids[2], parts: [part("2")] },
    ]);
  });

  it("can print the settings of the turn, with defaults", async () => {
    const say = acting({ model: true }, { cwd: true }, { reasoning: true });
    expect(await events(say, "x")).toEqual([text("script"), text("none"), text("default")]);
    const shown = await events(say, "x", undefined, { model: "a", cwd: "/project", reasoning: "high" });
    expect(shown).toEqual([text("a"), text("/project"), text("high")]);
  });

  it("has models to choose from, if the script names some", async () => {
    const agent = script({ models: ["a", "b"], window: 8000, answers: [] });
    expect(await agent.models?.(new AbortController().signal)).toEqual(["a", "b"]);
    expect(agent.getContextWindow?.("a")).toBe(8000);
    expect(script({ models: [], answers: [] }).getContextWindow?.("a")).toBe(0);
    expect(script({ answers: [] }).models).toBeUndefined();
    expect(script({ answers: [] }).getContextWindow).toBeUndefined();
  });

  it("has a context window, if the script sets one", () => {
    expect(script({ window: 8000, answers: [] }).contextWindow).toBe(8000);
    expect(script({ answers: [] }).contextWindow).toBeUndefined();
  });

  it.each([
    [{ window: 0, answers: [] }, "window"],
    [{ window: "8k", answers: [] }, "window"],
    [acting({ think: "" }), "answers[0].say[0].think"],
    [acting({ echo: false }), "answers[0].say[0].echo"],
    [acting({ hang: 1 }), "answers[0].say[0].hang"],
    [acting({ message: "x" }), "answers[0].say[0].message"],
    [acting({ plan: "x" }), "answers[0].say[0].plan"],
    [acting({ plan: [{ text: "x", state: "done" }] }), "answers[0].say[0].plan[0].state"],
    [acting({ plan: [{}] }), "answers[0].say[0].plan[0].text"],
    [acting({ approve: {} }), "answers[0].say[0].approve.title"],
    [acting({ approve: { title: "x", detail: 7 } }), "answers[0].say[0].approve.detail"],
    [acting({ approve: { title: "x" }, denied: 7 }), "answers[0].say[0].denied"],
    [acting({ repeat: 0, say: "x" }), "answers[0].say[0].repeat"],
    [acting({ repeat: 2 }), "answers[0].say[0].say"],
    [acting({ repeat: 2, say: ["x", { wait: 1 }] }), "answers[0].say[0].say[1]"],
    [acting({ tool: "" }), "answers[0].say[0].tool"],
    [acting({ tool: "x", effect: "some" }), "answers[0].say[0].effect"],
    [acting({ tool: "x", run: [] }), "answers[0].say[0].run"],
    [acting({ tool: "x", run: "ls" }), "answers[0].say[0].run"],
    [acting({ tool: "x", run: ["ls", 7] }), "answers[0].say[0].run[1]"],
    [acting({ tool: "x", run: ["ls"], result: "y" }), "answers[0].say[0].result"],
    [acting({ tool: "x", timeout_ms: -1 }), "answers[0].say[0].timeout_ms"],
    [acting({ wait_ms: 1, say: "x" }), "answers[0].say[0].say"],
    [{ models: "a", answers: [] }, "models"],
    [{ models: ["a", 7], answers: [] }, "models[1]"],
    [acting({ model: "a" }), "answers[0].say[0].model"],
    [acting({ cwd: 1 }), "answers[0].say[0].cwd"],
    [acting({ reasoning: "high" }), "answers[0].say[0].reasoning"],
    [acting({ use: "" }), "answers[0].say[0].use"],
    [acting({ use: "x", run: ["ls"] }), "answers[0].say[0].run"],
    [acting({ together: [] }), "answers[0].say[0].together"],
    [acting({ together: [{ tool: "x" }, "y"] }), "answers[0].say[0].together[1]"],
    [acting({ together: [{ tool: "x", run: [] }] }), "answers[0].say[0].together[0].run"],
  ])("is refused with the name of the invalid field: %j", (json, field) => {
    expect(() => script(json)).toThrow(
      expect.objectContaining({ code: "invalid_input", details: { field } }),
    );
    expect(() => script(json)).toThrow(new RegExp(`^${field.replaceAll(/[[\].]/g, "\\$&")} `));
  });
});

it("accepts the scripts of the documentation unchanged", async () => {
  const page = readFileSync(new URL("../../docs/script.md", import.meta.url), "utf8");
  const [first, second, ...more] = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, json = ""]) =>
    JSON.parse(json),
  );
  expect(await events(first, "ho")).toEqual([text("You said: "), text("ho")]);
  expect(await events(second, "ho")).toEqual([
    { type: "failed", reason: "The script has no answer to that." },
  ]);
  expect(more).toEqual([]);
});

/** The states of the processes of a group, without zombies. */
function alive(group: string): string[] {
  const { stdout } = spawnSync("ps", ["-eo", "pgid=,stat="], { encoding: "utf8" });
  const rows = stdout.split("\n").map((line) => line.trim().split(/\s+/));
  return rows.flatMap(([of, state = "Z"]) => (of === group && !state.startsWith("Z") ? [state] : []));
}
