import { describe, expect, it } from "vitest";
import { modelServer, type Reply } from "../../../test/support/model-server.ts";
import type { ApprovalAnswer } from "../../core/approval.ts";
import { type Message, textPart } from "../../core/message.ts";
import type { AgentEvent, AgentTurn } from "../../ports/agent.ts";
import type { Tool } from "../../ports/tool.ts";
import { model } from "./model.ts";

const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
const never = new AbortController().signal;

/** A tool that adds, and counts its calls. */
function adding(more: Partial<Tool> = {}): Tool & { readonly sums: number[] } {
  const sums: number[] = [];
  return {
    sums,
    name: "add",
    description: "Adds two numbers.",
    input: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    },
    effect: "none",
    async run(args) {
      const { a, b } = args as { a: number; b: number };
      sums.push(a + b);
      return { parts: [textPart(String(a + b))] };
    },
    ...more,
  };
}

const asks = (): { readonly title: string; readonly pattern: string } => ({ title: "Add?", pattern: "add" });
const add = (id: string, args: string) => ({ id, name: "add", arguments: args });

function turn(tools: readonly Tool[], more: Partial<AgentTurn> = {}): AgentTurn {
  const history: Message[] = [{ session: "s", seq: 1, at: 0, role: "user", parts: [textPart("go")] }];
  return { session: "s", history, tools, blob: async () => undefined, ...more };
}

async function serveModel(asking: AgentTurn, ...replies: readonly Reply[]) {
  const server = await modelServer(...replies);
  const agent = model({ provider: "compatible", model: "tiny", baseUrl: server.url }, { retries: 0 });
  return { ...server, run: (signal = never) => agent.run(asking, signal)[Symbol.asyncIterator]() };
}

/** The events of an answer, without usage and model parts; every approval request gets this answer. */
async function collectEvents(
  run: AsyncIterator<AgentEvent>,
  answer: ApprovalAnswer = "once",
): Promise<AgentEvent[]> {
  return (await collectAll(run, answer)).filter(({ type }) => type !== "usage" && type !== "model_part");
}

async function collectAll(run: AsyncIterator<AgentEvent>, answer: ApprovalAnswer): Promise<AgentEvent[]> {
  const found: AgentEvent[] = [];
  for (let step = await run.next(); step.done !== true; step = await run.next()) {
    found.push(step.value);
    if (step.value.type === "approval") step.value.answer(answer);
  }
  return found;
}

async function readUntil(run: AsyncIterator<AgentEvent>, type: AgentEvent["type"]): Promise<AgentEvent> {
  for (;;) {
    const step = await run.next();
    if (step.done === true) throw new Error(`it ended without ${type}`);
    if (step.value.type === type) return step.value;
  }
}

describe("a model that calls tools", () => {
  it("gets the result of each call in its own form, and continues", async () => {
    const tool = adding({ effect: "external" });
    const { run, requests } = await serveModel(
      turn([tool]),
      { say: ["I add."], calls: [add("c1", '{"a":1,"b":2}'), add("c2", '{"a":3,"b":4}')], usage },
      { say: ["3 and 7."], usage },
    );
    const counted = { type: "usage", usage: expect.objectContaining({ inputTokens: 5, model: "tiny" }) };
    const from = { provider: "compatible", model: "tiny", response: "1.0" };
    const part = (part: unknown) => ({ type: "model_part", from, part });
    const call = (id: string, a: number, b: number) => ({
      type: "tool_call",
      call: { id, name: "add", arguments: { a, b }, effect: "external" },
    });
    expect(await collectAll(run(), "once")).toEqual([
      { type: "text", text: "I add." },
      counted,
      part({ type: "text", length: 6 }),
      part({ type: "call", id: "c1" }),
      part({ type: "call", id: "c2" }),
      call("c1", 1, 2),
      { type: "tool_result", id: "c1", name: "add", parts: [textPart("3")] },
      part({ type: "call", id: "c2" }),
      call("c2", 3, 4),
      { type: "tool_result", id: "c2", name: "add", parts: [textPart("7")] },
      { type: "text", text: "3 and 7." },
      counted,
    ]);
    expect(requests[0]?.body.tools?.map((offered) => offered.function)).toEqual([
      expect.objectContaining({ name: "add", parameters: tool.input }),
    ]);
    const call1 = { id: "c1", type: "function", function: { name: "add", arguments: '{"a":1,"b":2}' } };
    const call2 = { id: "c2", type: "function", function: { name: "add", arguments: '{"a":3,"b":4}' } };
    expect(requests[1]?.body.messages.slice(1)).toEqual([
      { role: "user", content: "go" },
      { role: "assistant", content: "I add.", tool_calls: [call1, call2] },
      { role: "tool", tool_call_id: "c1", content: "3" },
      { role: "tool", tool_call_id: "c2", content: "7" },
    ]);
  });

  it("runs a tool only when the next event is requested", async () => {
    const tool = adding();
    const { run } = await serveModel(turn([tool]), { calls: [add("c", '{"a":1,"b":2}')] }, { say: ["ok"] });
    const events = run();
    await readUntil(events, "tool_call");
    await new Promise((resolve) => setImmediate(resolve));
    expect(tool.sums).toEqual([]);
    await readUntil(events, "tool_result");
    expect(tool.sums).toEqual([3]);
    await collectEvents(events);
  });

  it.each(["once", "session", "always"] as const)(
    "asks the person first, and runs the tool after %s",
    async (answer) => {
      const tool = adding({ buildApprovalRequest: asks });
      const { run } = await serveModel(turn([tool]), { calls: [add("c", '{"a":1,"b":2}')] }, { say: ["ok"] });
      const found = await collectEvents(run(), answer);
      expect(found.map(({ type }) => type)).toEqual(["approval", "tool_call", "tool_result", "text"]);
      expect(found[0]).toMatchObject({ request: { title: "Add?", pattern: "add" } });
      expect(tool.sums).toEqual([3]);
    },
  );

  it.each(["deny", "never"] as const)(
    "does not run the tool after %s, and the model gets the denial",
    async (answer) => {
      const tool = adding({ buildApprovalRequest: asks, effect: "external" });
      const { run, requests } = await serveModel(
        turn([tool]),
        { calls: [add("c", '{"a":1,"b":2}')] },
        { say: ["Then not."] },
      );
      expect((await collectEvents(run(), answer)).slice(1)).toEqual([
        { type: "tool_call", call: { id: "c", name: "add", arguments: { a: 1, b: 2 } } },
        {
          type: "tool_result",
          id: "c",
          name: "add",
          failed: true,
          parts: [textPart("The person did not allow add.")],
        },
        { type: "text", text: "Then not." },
      ]);
      expect(tool.sums).toEqual([]);
      expect(requests[1]?.body.messages.at(-1)).toMatchObject({ content: "The person did not allow add." });
    },
  );

  it("gets a text about an unknown tool, since providers refuse calls of unknown tools", async () => {
    const { run, requests } = await serveModel(
      turn([adding()]),
      { calls: [{ id: "c", name: "sub", arguments: "{}" }] },
      { say: ["I see."] },
    );
    const words = "There is no tool sub. There are: add.";
    expect(await collectEvents(run())).toMatchObject([
      { type: "tool_call", call: { id: "c" } },
      { type: "tool_result", id: "c", failed: true, parts: [{ text: words }] },
      { type: "text", text: "I see." },
    ]);
    expect(requests[1]?.body.messages.slice(2)).toEqual([
      { role: "assistant", content: expect.stringContaining(`\n> sub {}\n> It failed:\n> ${words}\n`) },
      { role: "user", content: "[Note: continue your answer.]" },
    ]);
  });

  it.each([
    [
      "arguments that are not JSON",
      add("c", '{"a":1,'),
      "The arguments are not valid JSON: Expected double-quoted property name in JSON at position 7 (line 1 column 8). Call the tool again with one JSON object.",
    ],
    ["that its arguments are no object", add("c", "[1]"), "The arguments must be a JSON object."],
    ["what does not fit", add("c", '{"a":"1"}'), /do not fit: .*property 'b'.*a must be number\.$/],
    ["of a tool that throws", add("c", '{"a":0,"b":0}'), "add failed: no zeros"],
  ])("gets an error for %s, and may try again", async (_, call, words) => {
    const tool = adding({
      async run() {
        throw new Error("no zeros");
      },
    });
    const { run, requests } = await serveModel(turn([tool]), { calls: [call] }, { say: ["I see."] });
    const found = await collectEvents(run());
    const content = typeof words === "string" ? words : expect.stringMatching(words);
    expect(found).toMatchObject([
      { type: "tool_call", call: { id: "c" } },
      { type: "tool_result", id: "c", failed: true, parts: [{ text: content }] },
      { type: "text", text: "I see." },
    ]);
    expect(requests[1]?.body.messages.at(-1)).toEqual({ role: "tool", tool_call_id: "c", content });
  });

  it("stores invalid JSON arguments as text", async () => {
    const { run } = await serveModel(turn([adding()]), { calls: [add("c", '{"a":1,')] }, { say: ["I see."] });
    expect(await readUntil(run(), "tool_call")).toMatchObject({ call: { arguments: '{"a":1,' } });
  });

  it("gets no further request after a failure or in the middle of a call", async () => {
    const { run, requests } = await serveModel(turn([adding()]), {
      calls: [add("c", '{"a":1}')],
      finish: "length",
    });
    expect(await collectEvents(run())).toEqual([
      {
        type: "failed",
        reason:
          "tiny reached its output limit in the middle of a tool call, so the call was not made. Ask for less at once, or choose another model with /model.",
      },
    ]);
    expect(requests).toHaveLength(1);
    const broken = await serveModel(
      turn([adding()]),
      { calls: [add("c", '{"a":1,"b":2}')] },
      { status: 500 },
    );
    expect((await collectEvents(broken.run())).at(-1)).toMatchObject({
      type: "failed",
      reason: expect.stringContaining("has an internal error (500)"),
    });
  });

  it.each([
    ["are no JSON", add("c", '{"a":1,')],
    ["do not fit", add("c", '{"a":"1"}')],
    ["are for a tool that does not exist", { id: "c", name: "sub", arguments: "{}" }],
  ])("is stopped after repeated calls with arguments that %s", async (_, call) => {
    const tool = adding();
    const { run, requests } = await serveModel(turn([tool]), { calls: [call] });
    const found = await collectEvents(run());
    expect(found.filter(({ type }) => type === "tool_result")).toHaveLength(5);
    expect(found.at(-1)).toEqual({
      type: "failed",
      reason:
        "tiny called tools wrongly 5 times in a row (unknown tools or invalid arguments), so it was stopped. Choose another model with /model, or ask differently.",
    });
    expect([requests.length, tool.sums]).toEqual([5, []]);
  });

  it("is not stopped if some of its calls are valid", async () => {
    const tool = adding();
    const both = { calls: [add("c", '{"a":1,'), add("d", '{"a":1,"b":2}')] };
    const wrong = { calls: [add("c", '{"a":1,')] };
    const replies = [wrong, wrong, both, wrong, wrong, wrong, wrong, { say: ["Done."] }];
    const { run } = await serveModel(turn([tool]), ...replies);
    expect((await collectEvents(run())).at(-1)).toEqual({ type: "text", text: "Done." });
  });

  it("may end without text after a tool call", async () => {
    const { run } = await serveModel(turn([adding()]), { calls: [add("c", '{"a":1,"b":2}')] }, { say: [] });
    expect((await collectEvents(run())).at(-1)).toMatchObject({ type: "tool_result" });
  });

  it("is stopped when it calls tools without end", async () => {
    const tool = adding();
    const { run, requests } = await serveModel(turn([tool]), { calls: [add("c", '{"a":1,"b":2}')] });
    const found = await collectEvents(run());
    expect(found.at(-1)).toMatchObject({
      type: "failed",
      reason: expect.stringContaining("50 times in a row"),
    });
    expect([requests.length, tool.sums.length]).toEqual([50, 50]);
  });

  it("has a unique id in the session for each call, whatever the provider's ids are", async () => {
    const before: Message = {
      session: "s",
      seq: 1,
      at: 0,
      role: "assistant",
      parts: [],
      toolCalls: [{ id: "call_0", name: "add", arguments: {} }],
    };
    const asking = turn([adding()]);
    const { run, requests } = await serveModel(
      { ...asking, history: [before, ...asking.history] },
      { calls: [add("call_0", '{"a":1,"b":2}')] },
      { calls: [add("call_0", '{"a":1,"b":3}')] },
      { say: ["ok"] },
    );
    const results = (await collectEvents(run())).flatMap((event) =>
      event.type === "tool_result" ? [event.id] : [],
    );
    expect(results).toEqual(["call_0-2", "call_0-3"]);
    const ids = requests[2]?.body.messages.flatMap((message) =>
      "tool_call_id" in message ? [message.tool_call_id] : [],
    );
    expect(ids).toEqual(["call_0", "call_0-2", "call_0-3"]);
  });

  it("gets the head and the tail of a long output, and the whole is stored", async () => {
    const long = `begin${"x".repeat(300_000)}end`;
    const tool = adding({ run: async () => ({ parts: [textPart(long)] }) });
    const { run, requests } = await serveModel(
      turn([tool]),
      { calls: [add("c", '{"a":1,"b":2}')] },
      { say: ["ok"] },
    );
    const [, result] = await collectEvents(run());
    if (result?.type !== "tool_result") throw new Error("there is no result");
    const [kept] = result.blobs ?? [];
    expect(new TextDecoder().decode(kept?.bytes)).toBe(long);
    expect(result.parts).toMatchObject([{ type: "text" }, { type: "file", blob: kept?.hash }]);
    const text = result.parts[0]?.type === "text" ? result.parts[0].text : "";
    expect(text).toMatch(/^beginx+\n\n\[260,008 characters are left out here\. .*\]\n\nx+end$/);
    expect(text).toContain(`output:${kept?.hash}`);
    expect(text.length).toBeLessThan(40_200);
    expect(requests[1]?.body.messages.at(-1)?.content).toContain(text);
  });

  it("gets the images that a tool returns", async () => {
    const parts = [textPart("Here."), { type: "image", blob: "h", mimeType: "image/png", size: 3 } as const];
    const blobs = [{ hash: "h", bytes: new Uint8Array([1, 2, 3]) }];
    const tool = adding({ run: async () => ({ parts, blobs }) });
    const { run, requests } = await serveModel(
      turn([tool]),
      { calls: [add("c", '{"a":1,"b":2}')] },
      { say: ["ok"] },
    );
    await collectEvents(run());
    expect(requests[1]?.body.messages.at(-2)).toMatchObject({ role: "tool", content: expect.any(String) });
    expect(requests[1]?.body.messages.at(-1)).toMatchObject({
      role: "user",
      content: [
        { type: "text", text: "[Pictures that the tool add returned:]" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
      ],
    });
  });

  it("gets resources as text", async () => {
    const parts = [{ type: "resource", uri: "file:///a", text: "in it" } as const, textPart("seen")];
    const tool = adding({ run: async () => ({ parts }) });
    const { run, requests } = await serveModel(
      turn([tool]),
      { calls: [add("c", '{"a":1,"b":2}')] },
      { say: ["ok"] },
    );
    expect(await collectEvents(run())).toContainEqual({ type: "tool_result", id: "c", name: "add", parts });
    expect(requests[1]?.body.messages.at(-1)?.content).toBe("/a:\n```\nin it\n```\nseen");
  });
});

describe("a model that is stopped", () => {
  const calls = [add("c1", '{"a":1,"b":2}'), add("c2", '{"a":1,"b":2}')];

  it("makes no call if it is stopped while it calls", async () => {
    const { run, left } = await serveModel(turn([adding()]), { say: ["Now "], calls, hang: true });
    const stop = new AbortController();
    const events = run(stop.signal);
    await readUntil(events, "text");
    stop.abort();
    expect(await collectEvents(events)).toEqual([]);
    await left;
  });

  it("stops waiting for an approval", async () => {
    const tool = adding({ buildApprovalRequest: asks });
    const { run } = await serveModel(turn([tool]), { calls });
    const stop = new AbortController();
    const events = run(stop.signal);
    await readUntil(events, "approval");
    const next = events.next();
    stop.abort();
    expect(await next).toMatchObject({ done: true });
    expect(tool.sums).toEqual([]);
  });

  it("does not run the tool after the call event", async () => {
    const tool = adding();
    const { run } = await serveModel(turn([tool]), { calls });
    const stop = new AbortController();
    const events = run(stop.signal);
    await readUntil(events, "tool_call");
    stop.abort();
    expect(await collectEvents(events)).toEqual([]);
    expect(tool.sums).toEqual([]);
  });

  it("aborts a running tool, even one that ignores the signal, and sends no further request", async () => {
    const heard = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const tool = adding({
      run: (_, { signal }) => {
        begun.resolve();
        signal.addEventListener("abort", () => heard.resolve());
        return new Promise(() => {});
      },
    });
    const { run, requests } = await serveModel(turn([tool]), { calls });
    const stop = new AbortController();
    const events = run(stop.signal);
    await readUntil(events, "tool_call");
    const next = events.next();
    await begun.promise;
    const late = new Promise((resolve) => setTimeout(resolve, 900, "late"));
    stop.abort();
    const first = await Promise.race([next, late]);
    expect(first).not.toBe("late");
    expect(first).toMatchObject({ done: true });
    await heard.promise;
    expect(requests).toHaveLength(1);
  });

  it("makes no further call after a result", async () => {
    const tool = adding();
    const { run, requests } = await serveModel(turn([tool]), { calls });
    const stop = new AbortController();
    const events = run(stop.signal);
    await readUntil(events, "tool_result");
    stop.abort();
    expect(await collectEvents(events)).toEqual([]);
    expect([tool.sums, requests.length]).toEqual([[3], 1]);
  });
});

describe("a model that cannot call tools", () => {
  it.each([
    [400, "registry.ollama.ai/library/tiny:latest does not support tools"],
    [404, "No endpoints found that support tool use. Try disabling one."],
    [400, "Function calling is not supported by this model"],
    [400, "`tools` is not supported with this model"],
    [422, "This model does not support function calling."],
  ])(
    "gets the request again without tools, and the next one without tools at once (%s %s)",
    async (status, message) => {
      const refusal = { status, body: { error: { message } } };
      const server = await modelServer(refusal, { say: ["hello"] }, { say: ["again"] });
      const agent = model({ provider: "compatible", model: "tiny", baseUrl: server.url }, { retries: 0 });
      const run = () => collectEvents(agent.run(turn([adding()]), never)[Symbol.asyncIterator]());
      expect(await run()).toEqual([{ type: "text", text: "hello" }]);
      expect(await run()).toEqual([{ type: "text", text: "again" }]);
      expect(server.requests.map(({ body }) => body.tools?.length ?? 0)).toEqual([1, 0, 0]);
    },
  );

  it("gets earlier calls as text, since it accepts them in no other form", async () => {
    const before: readonly Message[] = [
      { session: "s", seq: 1, at: 0, role: "user", parts: [textPart("before")] },
      {
        session: "s",
        seq: 2,
        at: 0,
        role: "assistant",
        parts: [textPart("I add.")],
        toolCalls: [{ id: "c", name: "add", arguments: { a: 1, b: 2 } }],
      },
      { session: "s", seq: 3, at: 0, role: "tool", parts: [textPart("3")], toolCallId: "c", toolName: "add" },
    ];
    const asking = turn([adding()]);
    const refusal = { status: 400, body: { error: { message: "tiny does not support tools" } } };
    const { run, requests } = await serveModel(
      { ...asking, history: [...before, ...asking.history] },
      refusal,
      {
        say: ["ok"],
      },
    );
    expect(await collectEvents(run())).toEqual([{ type: "text", text: "ok" }]);
    const [offering, without] = requests.map(({ body }) => body.messages.slice(1));
    expect(offering?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(offering?.[1]).toMatchObject({ tool_calls: [{ id: "c" }] });
    expect(without).toEqual([
      { role: "user", content: "before" },
      {
        role: "assistant",
        content: expect.stringMatching(
          /^I add\.\n\[Record of .*\]\n> add {"a":1,"b":2}\n> It returned:\n> 3\n\[/,
        ),
      },
      { role: "user", content: "go" },
    ]);
    expect(requests[1]?.body).not.toHaveProperty("tools");
  });

  it("is distinguished from a model that refuses for another reason", async () => {
    const refusal = { status: 400, body: { error: { message: "tool add: its schema is not valid" } } };
    const { run, requests } = await serveModel(turn([adding()]), refusal);
    expect(await collectEvents(run())).toMatchObject([{ type: "failed" }]);
    expect(requests).toHaveLength(1);
  });
});

describe("the reasoning effort", () => {
  it("is sent as the chat has set it, and otherwise left to the provider", async () => {
    for (const reasoning of ["none", "low", "medium", "high"] as const) {
      const { run, requests } = await serveModel(turn([], { reasoning }), { say: ["ok"] });
      await collectEvents(run());
      expect(requests[0]?.body.reasoning_effort).toBe(reasoning);
    }
    const { run, requests } = await serveModel(turn([]), { say: ["ok"] });
    await collectEvents(run());
    expect(requests[0]?.body).not.toHaveProperty("reasoning_effort");
    expect(requests[0]?.body).not.toHaveProperty("tools");
  });
});
