import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContentBlock } from "@agentclientprotocol/sdk/unstable";
import { describe, expect, it } from "vitest";
import { script } from "../src/agents/script.ts";
import { getText, type Message } from "../src/index.ts";
import type { Agent } from "../src/ports/agent.ts";
import { errorIn } from "./acp/editor.ts";
import { type EditorRoom, editorRoom, me, repeating, type ServedEditor } from "./acp/editor-room.ts";
import { heldAgent } from "./support/talking.ts";

const NOBODY = "00000000-0000-4000-8000-000000000000";

interface Scene {
  readonly room: EditorRoom;
  readonly editor: ServedEditor;
  readonly sessionId: string;
  /** All stored messages of the session. */
  said(id?: string): Promise<readonly Message[]>;
}

async function scene(agent: Agent = repeating()): Promise<Scene> {
  const room = editorRoom({ agent });
  const editor = await room.editor();
  const { sessionId } = await editor.open();
  const { store } = await room.look();
  const said = async (id = sessionId) =>
    (await store.messages.listMessages({ asker: me, session: id })) ?? [];
  return { room, editor, sessionId, said };
}

/** The new text of the agent in a session. */
function newWords({ editor, sessionId }: Pick<Scene, "editor" | "sessionId">): () => string {
  const before = editor.words(sessionId).length;
  return () => editor.words(sessionId).slice(before);
}

describe("a prompt", () => {
  it("reaches the agent and the store with all its content", async () => {
    const agent = heldAgent();
    const { editor, sessionId, said } = await scene(agent);
    const bytes = Buffer.from("some bytes");
    const blob = createHash("sha256").update(bytes).digest("hex");
    const data = bytes.toString("base64");
    const size = bytes.byteLength;
    const blocks: ContentBlock[] = [
      { type: "text", text: "words" },
      { type: "image", data, mimeType: "image/png" },
      { type: "audio", data, mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "file:///a.md", mimeType: "text/markdown", text: "# A" } },
      { type: "resource", resource: { uri: "file:///b.zip", mimeType: "application/zip", blob: data } },
      { type: "resource_link", uri: "file:///c.md", name: "c.md", mimeType: "text/markdown" },
    ];
    const prompted = editor.prompt(sessionId, blocks);
    const answer = await agent.asked();
    const parts = [
      { type: "text", text: "words" },
      { type: "image", blob, mimeType: "image/png", size },
      { type: "file", blob, mimeType: "audio/wav", size, name: "audio" },
      { type: "resource", uri: "file:///a.md", mimeType: "text/markdown", text: "# A" },
      { type: "file", blob, mimeType: "application/zip", size, name: "b.zip" },
      { type: "resource", uri: "file:///b.zip", mimeType: "application/zip" },
      { type: "resource", uri: "file:///c.md", mimeType: "text/markdown" },
    ];
    expect(answer.turn.history.at(-1)).toMatchObject({ role: "user", parts });
    expect(Buffer.from((await answer.turn.blob(blob)) ?? [])).toEqual(bytes);
    answer.send({ type: "text", text: "Got it." });
    answer.end();
    expect(await prompted).toEqual({ stopReason: "end_turn" });
    expect(await said()).toMatchObject([
      { role: "user", parts },
      { role: "assistant", parts: [{ type: "text", text: "Got it." }] },
    ]);
    // The editor shows its own prompts.
    expect(editor.shown(sessionId, "user_message_chunk")).toEqual([]);
  });

  it("without content gets no answer and is not stored", async () => {
    const { editor, sessionId, said } = await scene();
    const nothing: ContentBlock[][] = [
      [],
      [{ type: "text", text: "" }],
      [
        { type: "text", text: " \n" },
        { type: "text", text: "\t" },
      ],
    ];
    for (const prompt of nothing)
      expect(await editor.prompt(sessionId, prompt)).toEqual({ stopReason: "end_turn" });
    expect(await said()).toEqual([]);
    expect(editor.words(sessionId)).toBe("");
  });

  it("in an unknown session is refused", async () => {
    const { editor } = await scene();
    const prompt = [{ type: "text", text: "hello" }];
    expect(errorIn(await editor.call("session/prompt", { sessionId: NOBODY, prompt }))).toMatchObject({
      code: -32002,
      data: { code: "not_found" },
    });
  });

  it("reports its usage and how full the model's context window is", async () => {
    const usage = { input_tokens: 120, output_tokens: 8, last_prompt_tokens: 120, estimated_cost_usd: 0.25 };
    const { editor, sessionId } = await scene(script({ window: 1000, answers: [{ say: "yes", usage }] }));
    expect(await editor.prompt(sessionId, "hello")).toEqual({
      stopReason: "end_turn",
      usage: expect.objectContaining({ inputTokens: 120, outputTokens: 8, totalTokens: 128 }),
    });
    expect(editor.shown(sessionId, "usage_update")).toEqual([
      { sessionUpdate: "usage_update", used: 120, size: 1000, cost: { amount: 0.25, currency: "USD" } },
    ]);
  });

  it("reports the sum of the usage of several model requests", async () => {
    const agent = heldAgent();
    const { editor, sessionId } = await scene(agent);
    const asked = editor.prompt(sessionId, "hello");
    const answer = await agent.asked();
    answer.send(
      { type: "usage", usage: { inputTokens: 100, outputTokens: 10, lastPromptTokens: 100 } },
      { type: "usage", usage: { inputTokens: 150, outputTokens: 20, lastPromptTokens: 150 } },
    );
    answer.end();
    expect((await asked).usage).toMatchObject({ inputTokens: 250, outputTokens: 30, totalTokens: 280 });
  });

  it("gives the session a title if the agent proposes one", async () => {
    const agent = heldAgent();
    const { editor, sessionId } = await scene({ ...agent, canTitle: true });
    const prompted = editor.prompt(sessionId, "when is high tide?");
    const answer = await agent.asked();
    answer.send({ type: "text", text: "At nine." });
    answer.end();
    await prompted;
    const title = await agent.asked();
    title.send({ type: "text", text: "High tide" });
    title.end();
    await editor.until(() =>
      editor
        .shown(sessionId, "session_info_update")
        .find((update) => "title" in update && update.title === "High tide"),
    );
    expect((await editor.agent.request("session/list", {})).sessions[0]?.title).toBe("High tide");
    expect(editor.words(sessionId)).toBe("At nine.");
  });
});

describe("an agent that fails", () => {
  it("returns its own error sentence, and its partial answer is kept", async () => {
    const agent = script({
      answers: [
        { to: "break", say: ["Half an ans", { fail: "The tide took the model." }] },
        { say: "Fine." },
      ],
    });
    const { editor, sessionId, said, room } = await scene(agent);
    const prompt = [{ type: "text", text: "break it" }];
    expect(errorIn(await editor.call("session/prompt", { sessionId, prompt }))).toEqual({
      code: -32603,
      message: "The tide took the model.",
      data: { code: "agent_failed" },
    });
    expect(editor.words(sessionId)).toContain("Half an ans");
    expect((await said()).at(-1)).toMatchObject({
      parts: [{ type: "text", text: "Half an ans" }],
      finishReason: "error",
      extra: { error: "The tide took the model." },
    });
    expect(await editor.prompt(sessionId, "and now?")).toEqual({ stopReason: "end_turn" });
    const other = await room.editor();
    await other.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    expect(other.words(sessionId).replaceAll(/\s+/g, " ")).toBe(
      "Half an ans _The tide took the model._ Fine.",
    );
  });

  it("returns only the message of an exception", async () => {
    const agent = heldAgent();
    const { editor, sessionId } = await scene(agent);
    const prompted = editor.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "hello" }] });
    (await agent.asked()).break(new Error("out of memory"));
    expect(errorIn(await prompted)).toEqual({
      code: -32603,
      message: "The agent failed: out of memory",
      data: { code: "agent_failed" },
    });
  });
});

describe("a command", () => {
  it("runs at once, replies in one message, and is not part of the session", async () => {
    const { editor, sessionId, said } = await scene();
    await editor.prompt(sessionId, "hello");
    const before = await said();
    const words = newWords({ editor, sessionId });
    const count = editor.shown(sessionId, "agent_message_chunk").length;
    expect(await editor.prompt(sessionId, "/status")).toEqual({ stopReason: "end_turn" });
    expect(editor.shown(sessionId, "agent_message_chunk")).toHaveLength(count + 1);
    expect(words()).toContain("2 messages");
    expect(await said()).toEqual(before);
  });

  it("that is unknown goes to the agent unchanged, and so does a path", async () => {
    const { editor, sessionId } = await scene();
    for (const line of ["/explain the tides", "/etc/hosts", "/", "/ undo"]) {
      const words = newWords({ editor, sessionId });
      await editor.prompt(sessionId, line);
      expect(words()).toBe(`You said: ${line}`);
    }
  });

  it("is sent as text with two slashes", async () => {
    const { editor, sessionId, said } = await scene();
    await editor.prompt(sessionId, "//undo");
    expect((await said()).map(getText)).toEqual(["/undo", "You said: /undo"]);
  });

  it("is recognised only at the beginning of a prompt", async () => {
    const { editor, sessionId, said } = await scene();
    const link: ContentBlock = { type: "resource_link", uri: "file:///a.md", name: "a.md" };
    await editor.prompt(sessionId, [link, { type: "text", text: "/undo" }]);
    expect(await said()).toHaveLength(2);
  });

  it("that does not work in an editor names the alternative", async () => {
    const { room, editor, sessionId, said } = await scene();
    await editor.prompt(sessionId, "hello");
    const before = await said();
    const { store } = await room.look();
    for (const line of ["/resume x", "/fork", "/queue that", "/pair", "/busy", "/background this", "/quit"]) {
      const words = newWords({ editor, sessionId });
      expect(await editor.prompt(sessionId, line)).toEqual({ stopReason: "end_turn" });
      expect([line, words()]).toEqual([line, expect.stringMatching(/^[A-Z/].{10,}\.$/)]);
    }
    expect(await said()).toEqual(before);
    expect(await store.conversations.findConversations({ asker: me, session: sessionId })).toHaveLength(1);
  });

  it("lists found messages with commands that work in an editor", async () => {
    const { editor, sessionId } = await scene();
    await editor.prompt(sessionId, "the lighthouse keeper");
    const words = newWords({ editor, sessionId });
    await editor.prompt(sessionId, "/search lighthouse");
    const [, line = ""] = /`(\/history [a-z0-9]+\/1)`/.exec(words()) ?? [];
    await editor.prompt(sessionId, line);
    expect(words().slice(words().indexOf(line))).toContain("the lighthouse keeper");
  });

  it("never moves the thread to another session", async () => {
    const { editor, sessionId, said } = await scene();
    for (const line of [
      "/new",
      "/new Another title",
      "/archive",
      "/undo",
      "/redo",
      "/retry",
      "/compress",
      "/export md",
    ]) {
      await editor.prompt(sessionId, "hello");
      await editor.prompt(sessionId, line).catch(() => {});
      const nonce = `after ${line}`.replace("/", "");
      await editor.prompt(sessionId, nonce);
      expect([line, getText((await said()).at(-1) ?? { parts: [] })]).toEqual([line, `You said: ${nonce}`]);
      const { sessions } = await editor.agent.request("session/list", {});
      expect([line, sessions.map((one) => one.sessionId)]).toEqual([
        line,
        expect.arrayContaining([sessionId]),
      ]);
    }
  });

  it("/new empties the thread and keeps its messages as another thread", async () => {
    const { room, editor, sessionId } = await scene();
    await editor.prompt(sessionId, "one");
    await editor.prompt(sessionId, "/new");
    await editor.prompt(sessionId, "two");
    const { sessions } = await room.look();
    const shown = async (id: string): Promise<string[]> =>
      ((await sessions.history(me, id)) ?? []).map(getText);
    expect(await shown(sessionId)).toEqual(["two", "You said: two"]);
    const [kept] = (await editor.agent.request("session/list", {})).sessions.filter(
      (one) => one.sessionId !== sessionId,
    );
    const other = await room.editor();
    await other.agent.request("session/load", {
      sessionId: kept?.sessionId ?? "",
      cwd: room.cwd,
      mcpServers: [],
    });
    expect(other.words(kept?.sessionId ?? "")).toBe("You said: one");
  });

  it("/undo removes the last exchange for later loads and for the agent", async () => {
    const { room, editor, sessionId } = await scene();
    await editor.prompt(sessionId, "one");
    await editor.prompt(sessionId, "two");
    await editor.prompt(sessionId, "/undo");
    const other = await room.editor();
    await other.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    expect(other.words(sessionId)).toBe("You said: one");
  });

  it("/retry sends the last prompt again and gets an answer", async () => {
    const { editor, sessionId } = await scene();
    await editor.prompt(sessionId, "one");
    const words = newWords({ editor, sessionId });
    expect(await editor.prompt(sessionId, "/retry")).toEqual({ stopReason: "end_turn" });
    expect(words()).toMatch(/^Again: “one”\s*You said: one$/);
  });

  it("/model and /title send updates of their changes", async () => {
    const { editor, sessionId } = await scene(repeating({ models: ["a", "b"] }));
    await editor.until(() => editor.shown(sessionId, "config_option_update")[0]);
    await editor.prompt(sessionId, "/model b");
    expect(editor.shown(sessionId, "config_option_update").at(-1)).toMatchObject({
      configOptions: [{ id: "mode" }, { id: "model", currentValue: "b" }, { id: "reasoning" }],
    });
    await editor.prompt(sessionId, "/title High water");
    expect(editor.shown(sessionId, "session_info_update").at(-1)).toMatchObject({ title: "High water" });
  });

  it("works during an answer", async () => {
    const agent = heldAgent();
    const { editor, sessionId } = await scene(agent);
    const prompted = editor.prompt(sessionId, "hello");
    const answer = await agent.asked();
    await answer.say("Let me ");
    expect(await editor.prompt(sessionId, "/status")).toEqual({ stopReason: "end_turn" });
    expect(await editor.prompt(sessionId, "/stop")).toEqual({ stopReason: "end_turn" });
    expect(answer.signal.aborted).toBe(true);
    expect(await prompted).toEqual({ stopReason: "cancelled" });
    expect(editor.words(sessionId)).toContain("Stopped.");
  });
});

describe("session/cancel", () => {
  it("ends the answer with its partial text, and pending prompts without one", async () => {
    const agent = heldAgent();
    const { room, editor, sessionId, said } = await scene(agent);
    const first = editor.prompt(sessionId, "one");
    const answer = await agent.asked();
    await answer.say("The tide is");
    await editor.until(() => editor.words(sessionId) || undefined);
    const second = editor.prompt(sessionId, "two");
    const { store } = await room.look();
    await until(
      async () => (await store.inbox.listPending({ asker: me, session: sessionId })).length === 1,
      store,
    );
    await editor.agent.notify("session/cancel", { sessionId });
    expect(await Promise.all([first, second])).toEqual([
      { stopReason: "cancelled" },
      { stopReason: "cancelled" },
    ]);
    expect(answer.signal.aborted).toBe(true);
    expect(await said()).toMatchObject([
      { role: "user", parts: [{ text: "one" }] },
      { role: "assistant", parts: [{ text: "The tide is" }], origin: { interrupted: true } },
    ]);
    expect(editor.words(sessionId)).toBe("The tide is");
    const third = editor.prompt(sessionId, "three");
    (await agent.asked()).end();
    expect(await third).toEqual({ stopReason: "end_turn" });
  });

  it("leaves no tool card in progress", async () => {
    const agent = heldAgent();
    const { editor, sessionId } = await scene(agent);
    const asked = editor.prompt(sessionId, "one");
    const answer = await agent.asked();
    answer.send({
      type: "tool_call",
      call: { id: "call-1", name: "terminal", arguments: { command: "sleep" } },
    });
    const statuses = (): unknown[] =>
      editor.shown(sessionId).flatMap((update) => ("toolCallId" in update ? [update.status] : []));
    await editor.until(() => statuses().length > 0 || undefined);
    await editor.agent.notify("session/cancel", { sessionId });
    expect(await asked).toEqual({ stopReason: "cancelled" });
    expect(statuses()).toEqual(["in_progress", "failed"]);
  });

  it("does nothing without a running answer", async () => {
    const { editor, sessionId } = await scene();
    await editor.agent.notify("session/cancel", { sessionId });
    await editor.agent.notify("session/cancel", { sessionId: NOBODY });
    await editor.agent.notify("session/cancel", { sessionId: "../.." });
    expect(await editor.prompt(sessionId, "hello")).toEqual({ stopReason: "end_turn" });
    expect(editor.words(sessionId)).toBe("You said: hello");
    expect(editor.logged.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("applies only to earlier prompts, however fast they follow each other", async () => {
    const agent = heldAgent();
    const { editor, sessionId } = await scene(agent);
    const line = (message: object): string => JSON.stringify({ jsonrpc: "2.0", ...message });
    const ask = (id: string): string =>
      line({ id, method: "session/prompt", params: { sessionId, prompt: [{ type: "text", text: id }] } });
    const cancel = line({ method: "session/cancel", params: { sessionId } });
    const end = (id: string): Promise<unknown> =>
      editor.until(() => editor.wire.find((message) => "id" in message && message.id === id));
    for (const round of [1, 2, 3]) {
      editor.write([ask(`before ${round}`), cancel, ask(`after ${round}`)].join("\n"));
      expect(await end(`before ${round}`)).toMatchObject({ result: { stopReason: "cancelled" } });
      for (;;) {
        const answer = await agent.asked();
        answer.end();
        if (getText(answer.turn.history.at(-1) ?? { parts: [] }) === `after ${round}`) break;
      }
      expect(await end(`after ${round}`)).toMatchObject({ result: { stopReason: "end_turn" } });
    }
  });

  it("differs from cancelling a request only for the other pending prompts", async () => {
    const agent = heldAgent();
    const { room, editor, sessionId } = await scene(agent);
    const first = editor.prompt(sessionId, "one");
    const answer = await agent.asked();
    const abort = new AbortController();
    const prompt = [{ type: "text" as const, text: "two" }];
    const second = editor.agent.request(
      "session/prompt",
      { sessionId, prompt },
      { cancellationSignal: abort.signal },
    );
    const { store } = await room.look();
    await until(
      async () => (await store.inbox.listPending({ asker: me, session: sessionId })).length === 1,
      store,
    );
    abort.abort();
    expect(await second).toEqual({ stopReason: "cancelled" });
    expect(answer.signal.aborted).toBe(false);
    answer.send({ type: "text", text: "Whole." });
    answer.end();
    expect(await first).toEqual({ stopReason: "end_turn" });
    expect(editor.words(sessionId)).toBe("Whole.");
  });

  it("of a request ends its answer", async () => {
    const agent = heldAgent();
    const { editor, sessionId, said } = await scene(agent);
    const abort = new AbortController();
    const prompt = [{ type: "text" as const, text: "one" }];
    const prompted = editor.agent.request(
      "session/prompt",
      { sessionId, prompt },
      { cancellationSignal: abort.signal },
    );
    await (await agent.asked()).say("Half");
    abort.abort();
    expect(await prompted).toEqual({ stopReason: "cancelled" });
    expect((await said()).at(-1)).toMatchObject({ parts: [{ text: "Half" }], origin: { interrupted: true } });
  });
});

describe("session/close and session/delete", () => {
  it.each(["session/close", "session/delete"] as const)("%s ends the running answer", async (method) => {
    const agent = heldAgent();
    const { editor, sessionId, said } = await scene(agent);
    const prompted = editor.prompt(sessionId, "one");
    const answer = await agent.asked();
    await answer.say("Half");
    expect(await editor.call(method, { sessionId })).toMatchObject({ result: {} });
    expect(answer.signal.aborted).toBe(true);
    expect(await prompted).toEqual({ stopReason: "cancelled" });
    expect((await said()).map(getText)).toEqual(method === "session/close" ? ["one", "Half"] : []);
  });
});

describe("several prompts at once", () => {
  it("in one session are answered in order, each with its own answer", async () => {
    const agent = heldAgent();
    const { editor, sessionId, said } = await scene(agent);
    const ends: number[] = [];
    const prompts = [1, 2, 3].map(async (number) => {
      const end = await editor.prompt(sessionId, `question ${number}`);
      ends.push(number);
      return end;
    });
    for (const number of [1, 2, 3]) {
      const answer = await agent.asked();
      expect(getText(answer.turn.history.at(-1) ?? { parts: [] })).toBe(`question ${number}`);
      answer.send({ type: "text", text: `answer ${number}.` });
      answer.end();
    }
    expect(await Promise.all(prompts)).toEqual(Array(3).fill({ stopReason: "end_turn" }));
    expect(ends).toEqual([1, 2, 3]);
    expect(editor.words(sessionId)).toBe("answer 1.answer 2.answer 3.");
    expect((await said()).map(getText)).toEqual([1, 2, 3].flatMap((n) => [`question ${n}`, `answer ${n}.`]));
  });

  it("in twenty sessions are never mixed up", async () => {
    const agent = script({
      answers: [
        { say: [{ think: "hm" }, "You ", { tool: "look", result: "ok" }, "said: ", { echo: true }, "."] },
      ],
    });
    const room = editorRoom({ agent });
    const editor = await room.editor();
    const sessions = await Promise.all(Array.from({ length: 20 }, () => editor.open()));
    expect(new Set(sessions.map(({ sessionId }) => sessionId)).size).toBe(20);
    const rounds = [1, 2, 3];
    const nonce = (at: number, round: number): string => `nonce-${at}-${round}-${"x".repeat(at)}`;
    const ends = await Promise.all(
      rounds.flatMap((round) =>
        sessions.map(({ sessionId }, at) => editor.prompt(sessionId, nonce(at, round))),
      ),
    );
    expect(ends).toEqual(Array(60).fill({ stopReason: "end_turn" }));
    const { store } = await room.look();
    for (const [at, { sessionId }] of sessions.entries()) {
      expect(editor.words(sessionId)).toBe(rounds.map((round) => `You said: ${nonce(at, round)}.`).join(""));
      const said = (await store.messages.listMessages({ asker: me, session: sessionId })) ?? [];
      expect(said.filter(({ role }) => role === "user").map(getText)).toEqual(
        rounds.map((round) => nonce(at, round)),
      );
    }
  });
});

describe("the editor's terminal", () => {
  const agent = script({
    answers: [{ say: [{ tool: "run", arguments: { command: "ls -l" }, run: ["ls", "-l"] }, "Done."] }],
  });

  it("runs commands if the editor has one, and is shown in the card of the call", async () => {
    const room = editorRoom({ agent });
    const editor = await room.editor({ terminal: () => ({ output: "notes.md", exitCode: 0 }) });
    const { sessionId } = await editor.open();
    expect(await editor.prompt(sessionId, "look")).toEqual({ stopReason: "end_turn" });
    expect(editor.terminals.map(({ method }) => method)).toEqual([
      "terminal/create",
      "terminal/wait_for_exit",
      "terminal/output",
      "terminal/release",
    ]);
    expect(editor.terminals[0]?.params).toMatchObject({
      sessionId,
      command: "ls",
      args: ["-l"],
      cwd: room.cwd,
    });
    const [call, ...updates] = editor.shown(sessionId, "tool_call", "tool_call_update");
    const { toolCallId } = call as { toolCallId: string };
    expect(updates).toEqual([
      {
        sessionUpdate: "tool_call_update",
        toolCallId,
        content: [{ type: "terminal", terminalId: "terminal-1" }],
      },
      expect.objectContaining({
        toolCallId,
        status: "completed",
        content: [{ type: "terminal", terminalId: "terminal-1" }],
        rawOutput: expect.stringContaining("notes.md"),
      }),
    ]);
    // Released after the last update of the card, because clients keep the output that it shows then.
    const names = editor.wire.map((message) => namesIn(message));
    expect(names.indexOf("terminal/release")).toBeGreaterThan(names.lastIndexOf("tool_call_update"));
  });

  it("is not requested if the editor has none", async () => {
    const room = editorRoom({ agent });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "look");
    expect(editor.wire.filter((message) => "method" in message && "id" in message)).toEqual([]);
    expect(editor.shown(sessionId, "tool_call_update").at(-1)).toMatchObject({ status: "completed" });
  });

  it("ends the command when the answer is cancelled", async () => {
    const room = editorRoom({ agent });
    const editor = await room.editor({ terminal: () => new Promise(() => {}) });
    const { sessionId } = await editor.open();
    const prompted = editor.prompt(sessionId, "look");
    await editor.until(() => editor.terminals.find(({ method }) => method === "terminal/wait_for_exit"));
    await editor.agent.notify("session/cancel", { sessionId });
    expect(await prompted).toEqual({ stopReason: "cancelled" });
    await editor.until(() => editor.terminals.find(({ method }) => method === "terminal/release"));
    expect(editor.terminals.map(({ method }) => method)).toContain("terminal/kill");
  });
});

/** The method of a request, or the kind of an update. */
function namesIn(message: unknown): string | undefined {
  const { method, params } = message as { method?: string; params?: { update?: { sessionUpdate: string } } };
  return params?.update?.sessionUpdate ?? method;
}

describe("the diff of write_file", () => {
  const agent = script({
    answers: [
      { to: "", say: [{ use: "write_file", arguments: { path: "a.txt", content: "two\n" } }, "Done."] },
    ],
  });

  it("has the old text of an existing file in the approval, the card and the result", async () => {
    const room = editorRoom({ agent });
    writeFileSync(join(room.cwd, "a.txt"), "one\n");
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    await editor.agent.request("session/set_mode", { sessionId, modeId: "allow" });
    await editor.prompt(sessionId, "write");
    const diff = { type: "diff", path: join(room.cwd, "a.txt"), oldText: "one\n", newText: "two\n" };
    const [call, end] = editor.shown(sessionId, "tool_call", "tool_call_update");
    expect(call).toMatchObject({ content: [diff] });
    expect(end).toMatchObject({ status: "completed", content: [diff, expect.anything()] });
    // The old text is not stored: the card shows the new text, but not as a new file.
    const other = await room.editor();
    await other.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    const [again] = other.shown(sessionId, "tool_call");
    expect(JSON.stringify(again)).not.toContain('"diff"');
    expect(JSON.stringify(again)).toContain("two");
  });

  it("has no old text for a new file, also after a load", async () => {
    const room = editorRoom({ agent });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    await editor.agent.request("session/set_mode", { sessionId, modeId: "allow" });
    await editor.prompt(sessionId, "write");
    await editor.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    const diff = { type: "diff", path: join(room.cwd, "a.txt"), oldText: null, newText: "two\n" };
    const cards = editor.shown(sessionId, "tool_call") as { content: unknown[] }[];
    expect(cards.map(({ content }) => content[0])).toEqual([diff, diff]);
  });
});

/** Checks after each change of the store. */
async function until(
  look: () => Promise<boolean>,
  store: { onChange(listener: () => void): () => void },
): Promise<void> {
  let changed = Promise.withResolvers<void>();
  const stop = store.onChange(() => changed.resolve());
  try {
    for (;;) {
      changed = Promise.withResolvers<void>();
      if (await look()) return;
      await changed.promise;
    }
  } finally {
    stop();
  }
}
