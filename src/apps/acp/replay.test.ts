import { agent, client, ndJsonStream, type SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, NewMessage, Part, ToolCall } from "../../core/message.ts";
import {
  buildReplayContext,
  closeCallUpdate,
  openCallUpdate,
  replayHistory,
  toPlanUpdate,
  toSessionUpdates,
} from "./replay.ts";

const cwd = "/project";
const text = (said: string): Part => ({ type: "text", text: said });
const noBlob = async (): Promise<undefined> => undefined;
const call = (id: string, name = "get_weather"): ToolCall => ({ id, name, arguments: { query: id } });
const calling = (...toolCalls: ToolCall[]): NewMessage => ({ role: "assistant", parts: [], toolCalls });
const result = (toolCallId: string, said: string, more: Partial<NewMessage> = {}): NewMessage => ({
  role: "tool",
  parts: [text(said)],
  toolCallId,
  toolName: "get_weather",
  ...more,
});
const user = (said: string): NewMessage => ({ role: "user", parts: [text(said)] });
const assistant = (said: string, more: Partial<NewMessage> = {}): NewMessage => ({
  role: "assistant",
  parts: said === "" ? [] : [text(said)],
  ...more,
});
const stored = (messages: readonly NewMessage[]): readonly Message[] =>
  messages.map((message, at) => ({ at: 0, ...message, session: "s", seq: at + 1 }));

async function shown(
  messages: readonly NewMessage[],
  options: Partial<Parameters<typeof replayHistory>[1]> = {},
): Promise<SessionUpdate[]> {
  return all(replayHistory(stored(messages), { cwd, blob: noBlob, ...options }));
}

async function all(updates: AsyncIterable<SessionUpdate>): Promise<SessionUpdate[]> {
  const list: SessionUpdate[] = [];
  for await (const update of updates) list.push(update);
  return list;
}

const textIn = (update: SessionUpdate): string =>
  "content" in update && update.content !== null && update.content !== undefined && "type" in update.content
    ? update.content.type === "text"
      ? update.content.text
      : ""
    : "";
type Card = Extract<SessionUpdate, { sessionUpdate: "tool_call" }>;
const cards = (updates: readonly SessionUpdate[]): Card[] =>
  updates.filter((update) => update.sessionUpdate === "tool_call");
const kinds = (updates: readonly SessionUpdate[]): string[] =>
  updates.map(({ sessionUpdate }) => sessionUpdate);

describe("a replayed session", () => {
  it("is shown in the order of its messages and calls", async () => {
    const plan = [{ text: "look", state: "completed" }];
    const updates = await shown([
      { role: "user", parts: [text("what is in it?"), { type: "resource", uri: "file:///a" }] },
      assistant("I look.", { reasoning: "hm", extra: { plan }, toolCalls: [call("1", "read_file")] }),
      result("1", "contents"),
      assistant("Nothing."),
    ]);
    expect(updates).toMatchObject([
      { sessionUpdate: "user_message_chunk", content: text("what is in it?"), messageId: "s:1" },
      { sessionUpdate: "user_message_chunk", content: { uri: "file:///a" }, messageId: "s:1" },
      { sessionUpdate: "agent_thought_chunk", content: text("hm"), messageId: "s:2" },
      { sessionUpdate: "agent_message_chunk", content: text("I look."), messageId: "s:2" },
      { sessionUpdate: "plan", entries: [{ content: "look", priority: "medium", status: "completed" }] },
      {
        sessionUpdate: "tool_call",
        toolCallId: "1",
        kind: "read",
        status: "completed",
        rawOutput: "contents",
      },
      { sessionUpdate: "agent_message_chunk", content: text("Nothing."), messageId: "s:4" },
    ]);
  });

  it("shows a call without a result as interrupted, or as in progress while its turn runs", async () => {
    const history = [user("a"), calling(call("1")), user("b"), calling(call("2")), calling(call("3"))];
    expect(cards(await shown(history)).map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
    expect(JSON.stringify(await shown(history))).toContain("no result was stored");
    const running = cards(await shown(history, { isRunning: true }));
    expect(running.map(({ status }) => status)).toEqual(["failed", "in_progress", "in_progress"]);
  });

  it("shows a call of an interrupted answer as interrupted, also when the next turn has just started", async () => {
    const history = [user("a"), calling(call("1")), assistant("", { origin: { interrupted: true } })];
    expect(cards(await shown(history, { isRunning: true }))).toMatchObject([{ status: "failed" }]);
  });

  it("shows a failed call as failed", async () => {
    const updates = await shown([calling(call("1")), result("1", "no network", { finishReason: "error" })]);
    expect(updates).toMatchObject([{ status: "failed", rawOutput: "no network" }]);
  });

  it("matches each result with the nearest call of its id, and gives each call a unique id", async () => {
    const updates = await shown([
      calling(call("1")),
      calling(call("1"), call("1")),
      result("1", "first"),
      result("1", "second"),
      calling(call("1")),
      result("1", "third"),
      calling(call("")),
    ]);
    expect(cards(updates).map(({ toolCallId, rawOutput }) => [toolCallId, rawOutput])).toEqual([
      ["1", undefined],
      ["1#2", "first"],
      ["1#2.2", "second"],
      ["1#5", "third"],
      ["call#7", undefined],
    ]);
  });

  it("shows a result without its call in its own card", async () => {
    const { toolCallId: _, ...lost } = result("x", "by nobody");
    expect(await shown([result("9", "alone", { toolName: "terminal" }), lost])).toMatchObject([
      { toolCallId: "9", title: "terminal", kind: "execute", status: "completed", rawOutput: "alone" },
      { toolCallId: "call#2", status: "completed", rawOutput: "by nobody" },
    ]);
  });

  it("marks a stopped or failed answer separately from its text", async () => {
    const updates = await shown([
      assistant("half of", { origin: { interrupted: true } }),
      assistant("", { origin: { interrupted: true }, finishReason: "error", extra: { error: "No\nmodel." } }),
    ]);
    expect(updates.map((update) => [textIn(update), "messageId" in update && update.messageId])).toEqual([
      ["half of", "s:1"],
      ["\n\n_(stopped)_\n\n", "s:1:end"],
      ["\n\n_No model._\n\n", "s:2:end"],
    ]);
  });

  it("labels summaries and notes", async () => {
    const summary = { role: "note", extra: { summary: true } } as const;
    const updates = await shown([
      { ...summary, parts: [text("Summary of what was said before:\n\nThey spoke of ships.")] },
      { ...summary, parts: [text("They spoke of ports.")] },
      { role: "note", parts: [text("Renamed.")] },
    ]);
    expect(updates.map((update) => textIn(update).trim())).toEqual([
      "_Summary of what was said before:_\n\nThey spoke of ships.",
      "_Summary of what was said before:_\n\nThey spoke of ports.",
      "_Note:_ Renamed.",
    ]);
  });

  it("shows nothing for empty messages, and ignores other data in extra.plan", async () => {
    const nothing: NewMessage[] = [
      user(""),
      assistant("", { reasoning: "" }),
      { role: "note", parts: [] },
      assistant("", { extra: { plan: "secret", error: 7 } }),
      assistant("", { extra: { plan: [{ text: "x", state: "odd" }] } }),
    ];
    expect(await shown(nothing)).toEqual([]);
  });

  it("does not show data for the model's provider", async () => {
    const part = { type: "reasoning", length: 2, data: { signature: "sig-1" } };
    const kept = { provider: "anthropic", model: "m", response: "1.0", parts: [part] };
    const history = [assistant("Here.", { reasoning: "hm", extra: { model: kept } })];
    expect((await shown(history)).map((update) => textIn(update))).toEqual(["hm", "Here."]);
    expect(JSON.stringify(await shown(history))).not.toContain("sig-1");
  });

  it("shows the pictures of a result, or text if they are missing", async () => {
    const image: Part = {
      type: "image",
      blob: "0".repeat(64),
      mimeType: "image/png",
      size: 1,
      name: "a.png",
    };
    const history = [calling(call("1")), result("1", "", { parts: [image] })];
    const blob = async () => new Uint8Array([1]);
    expect(await shown(history, { blob })).toMatchObject([
      { content: [{ type: "content", content: { type: "image", data: "AQ==" } }] },
    ]);
    expect(JSON.stringify(await shown(history))).toContain("no longer stored");
  });
});

const words = fc.string({ maxLength: 8, unit: "grapheme" });
const ids = fc.constantFrom("a", "b", "c", "");
const message: fc.Arbitrary<NewMessage> = fc.oneof(
  words.map(user),
  fc
    .record({ said: words, thought: words, calls: fc.array(ids, { maxLength: 3 }), isStopped: fc.boolean() })
    .map(({ said, thought, calls, isStopped }) =>
      assistant(said, {
        reasoning: thought,
        toolCalls: calls.map((id) => call(id)),
        ...(isStopped && { origin: { interrupted: true } }),
      }),
    ),
  fc
    .tuple(ids, words, fc.boolean())
    .map(([id, said, failed]) => result(id, said, failed ? { finishReason: "error" } : {})),
);
/** Every message has a unique text. */
const histories = fc.array(message, { maxLength: 12 }).map((messages) =>
  messages.map((one, at) => ({
    ...one,
    parts: one.parts.map((part) => ("text" in part ? text(`${at}:${part.text}`) : part)),
  })),
);

describe("every replayed session", () => {
  it("shows every message once, in order, and every call and result once", async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.boolean(), async (messages, isRunning) => {
        const updates = await shown(messages, { isRunning });
        const saidBy = (role: string) =>
          messages
            .filter((one) => one.role === role)
            .flatMap(({ parts }) => parts.map((part) => "text" in part && part.text));
        const chunks = (kind: string) =>
          updates
            .filter((update) => update.sessionUpdate === kind && textIn(update) !== "\n\n_(stopped)_\n\n")
            .map(textIn);
        expect(chunks("user_message_chunk")).toEqual(saidBy("user"));
        expect(chunks("agent_message_chunk")).toEqual(saidBy("assistant"));
        const thoughts = messages.flatMap(({ reasoning }) => (reasoning ? [reasoning] : []));
        expect(chunks("agent_thought_chunk")).toEqual(thoughts);
        const all = cards(updates);
        // A result may also come as an update of a call that is in progress.
        const outputs = updates.flatMap((update) => ("rawOutput" in update ? (update.rawOutput ?? []) : []));
        expect(outputs.toSorted()).toEqual(saidBy("tool").toSorted());
        const withInput = all.filter(({ rawInput }) => rawInput !== undefined);
        expect(withInput).toHaveLength(messages.flatMap(({ toolCalls = [] }) => toolCalls).length);
        expect(new Set(all.map(({ toolCallId }) => toolCallId)).size).toBe(all.length);
        expect(await shown(messages, { isRunning })).toEqual(updates);
      }),
    );
  });

  it("shows the same as the live updates", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (messages) => {
        const context = buildReplayContext({ cwd, blob: noBlob });
        const watched: SessionUpdate[] = [];
        for (const one of stored(messages)) watched.push(...(await toSessionUpdates(one, context)));
        const said = (updates: readonly SessionUpdate[]) =>
          updates.filter(({ sessionUpdate }) => sessionUpdate.endsWith("_chunk"));
        const opened = await shown(messages);
        expect(said(watched)).toEqual(said(opened));
        const done = new Map<string, unknown>();
        for (const update of watched) {
          if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") {
            done.set(update.toolCallId, update.rawOutput);
          }
        }
        const results = (values: Iterable<unknown>) =>
          [...values].filter((value) => value !== undefined).toSorted();
        expect(results(done.values())).toEqual(results(cards(opened).map(({ rawOutput }) => rawOutput)));
      }),
    );
  });

  it("shows the result of an earlier call with the same id once, while the turn runs", async () => {
    const history = [user("a"), calling(call("1")), calling(call("1")), result("1", "b"), result("1", "c")];
    const updates = await shown(history, { isRunning: true });
    const outputs = updates.flatMap((update) =>
      "rawOutput" in update && update.rawOutput !== undefined
        ? [[update.sessionUpdate, update.toolCallId, update.rawOutput]]
        : [],
    );
    expect(outputs).toEqual([
      ["tool_call", "1#3", "b"],
      ["tool_call_update", "1", "c"],
    ]);
  });

  it("is accepted by the client of the protocol's SDK without loss", async () => {
    const plan = toPlanUpdate([{ text: "a", state: "in_progress" }]);
    const samples = fc.sample(histories, { numRuns: 20, seed: 1 });
    const edits = calling({ id: "e", name: "edit", arguments: { path: "a", old: "x", new: "y", line: 3 } });
    const updates = [plan, ...(await shown([edits, ...samples.flat()]))];
    expect(await throughTheWire(updates)).toEqual(updates);
  });
});

describe("a live call", () => {
  it("is shown in progress, then with its result, under one id", async () => {
    const context = buildReplayContext({ cwd, blob: noBlob });
    await all(replayHistory(stored([user("a"), calling(call("1")), result("1", "x")]), context));
    const begun = openCallUpdate(call("1"), 4, context);
    expect(begun).toMatchObject({ sessionUpdate: "tool_call", toolCallId: "1#4", status: "in_progress" });
    expect(context.calls.findOpen("1")?.toolCallId).toBe("1#4");
    const ended = closeCallUpdate({ id: "1", name: "get_weather", parts: [text("sunny")] }, context);
    expect(ended).toMatchObject({
      sessionUpdate: "tool_call_update",
      toolCallId: "1#4",
      status: "completed",
      rawOutput: "sunny",
    });
    expect(context.calls.findOpen("1")).toBeUndefined();
  });

  it("that was running at the replay gets its result afterwards", async () => {
    const context = buildReplayContext({ cwd, blob: noBlob });
    const [one, two, three] = stored([user("a"), calling(call("1")), result("1", "x")]);
    const opened = one && two ? await all(replayHistory([one, two], { ...context, isRunning: true })) : [];
    expect(kinds(opened)).toEqual(["user_message_chunk", "tool_call"]);
    const later = three === undefined ? [] : await toSessionUpdates(three, context);
    expect(later).toMatchObject([
      { sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" },
    ]);
  });

  it("has the same id after another replay", async () => {
    const context = buildReplayContext({ cwd, blob: noBlob });
    const history = stored([calling(call("1")), result("1", "x"), calling(call("1"))]);
    const first = await all(replayHistory(history, context));
    expect(await all(replayHistory(history, context))).toEqual(first);
  });
});

/** The updates that a client of the protocol receives. */
async function throughTheWire(updates: readonly SessionUpdate[]): Promise<SessionUpdate[]> {
  const there = new TransformStream<Uint8Array, Uint8Array>();
  const back = new TransformStream<Uint8Array, Uint8Array>();
  const received: SessionUpdate[] = [];
  const whole = Promise.withResolvers<void>();
  const reading = client({ name: "reader" })
    .onNotification("session/update", ({ params }) => {
      if (params.update.sessionUpdate === "session_info_update") whole.resolve();
      else received.push(params.update);
    })
    .connect(ndJsonStream(back.writable, there.readable));
  const writing = agent({ name: "writer" }).connect(ndJsonStream(there.writable, back.readable));
  const end: SessionUpdate = { sessionUpdate: "session_info_update", title: "end" };
  for (const update of [...updates, end]) {
    await writing.client.notify("session/update", { sessionId: "s", update });
  }
  await whole.promise;
  reading.close();
  writing.close();
  return received;
}
