import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AnyMessage } from "@agentclientprotocol/sdk/unstable";
import { describe, expect, it, onTestFinished } from "vitest";
import { sqliteStore } from "../src/index.ts";
import { editorAt, errorIn } from "./acp/editor.ts";
import { editorRoom, me, repeating } from "./acp/editor-room.ts";
import { startCli } from "./support/cli.ts";
import { temporaryFolder } from "./support/folder.ts";
import { heldAgent } from "./support/talking.ts";

const MIB = 1024 * 1024;

function codeOf(message: AnyMessage | undefined): unknown {
  return message !== undefined && "error" in message ? [message.id, message.error.code] : message;
}

describe("before initialize", () => {
  it("every request is refused and creates nothing; afterwards all requests work", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor({ initialized: false });
    const { cwd } = room;
    const requests: [string, object][] = [
      ["session/new", { cwd, mcpServers: [] }],
      ["session/list", {}],
      ["session/load", { sessionId: "x", cwd, mcpServers: [] }],
      ["session/prompt", { sessionId: "x", prompt: [] }],
      ["authenticate", { methodId: "model" }],
      ["session/delete", { sessionId: "x" }],
    ];
    for (const [method, params] of requests) {
      expect([method, errorIn(await editor.call(method, params))]).toEqual([
        method,
        expect.objectContaining({ code: -32600 }),
      ]);
    }
    await editor.agent.notify("session/cancel", { sessionId: "x" });
    await editor.initialize();
    expect(await editor.agent.request("session/list", {})).toEqual({ sessions: [] });
    const { sessionId } = await editor.open();
    expect(await editor.prompt(sessionId, "hello")).toEqual({ stopReason: "end_turn" });
  });
});

describe("input that is not a request", () => {
  it.each([
    ["no JSON", "{ nonsense", [null, -32700]],
    ["half a line of JSON", '{"jsonrpc":"2.0","id":1,"method":', [null, -32700]],
    ["a list of requests", '[{"jsonrpc":"2.0","id":1,"method":"session/list"}]', [null, -32600]],
    ["a number", "42", [null, -32600]],
    ["an object that is nothing", '{"hello":"there"}', [null, -32600]],
    ["a method that is no text", '{"jsonrpc":"2.0","id":"q","method":7}', [null, -32600]],
  ])("%s gets an error, and the connection stays open", async (_, line, expected) => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const before = editor.wire.length;
    editor.write(line);
    const answer = await editor.until(() =>
      editor.wire.slice(before).find((message) => !("method" in message)),
    );
    expect(codeOf(answer)).toEqual(expected);
    expect(await editor.prompt(sessionId, "hello")).toEqual({ stopReason: "end_turn" });
    expect(editor.words(sessionId)).toBe("You said: hello");
  });

  it("is ignored if it needs no answer: empty lines, unexpected responses, unknown notifications", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const lines = [
      "",
      "   ",
      "\r",
      '{"jsonrpc":"2.0","method":"_unknown"}',
      '{"jsonrpc":"2.0","id":"nobody","result":{}}',
      '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"nobody"}}',
      '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}',
    ];
    for (const line of lines) editor.write(line);
    expect(await editor.prompt(sessionId, "hello")).toEqual({ stopReason: "end_turn" });
  });

  it("between pipelined requests does not prevent any of their answers", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const answers = Array.from({ length: 20 }, (_, at) => {
      editor.write(at % 2 === 0 ? "{ nonsense" : "");
      return editor.call("session/prompt", { sessionId, prompt: [{ type: "text", text: `number ${at}` }] });
    });
    for (const answer of answers) expect(await answer).toMatchObject({ result: { stopReason: "end_turn" } });
    expect(editor.words(sessionId)).toBe(answers.map((_, at) => `You said: number ${at}`).join(""));
  });
});

describe("an error in a request", () => {
  it("is reported, and nothing changes", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const { cwd } = room;
    const wrong: [string, unknown][] = [
      ["session/new", undefined],
      ["session/new", []],
      ["session/new", "text"],
      ["session/new", { cwd }],
      ["session/new", { cwd: 7, mcpServers: [] }],
      ["session/new", { cwd: "project", mcpServers: [] }],
      ["session/new", { cwd: "./project", mcpServers: [] }],
      ["session/new", { cwd: "", mcpServers: [] }],
      ["session/new", { cwd: "/a\0b", mcpServers: [] }],
      ["session/new", { cwd: "/a\nb", mcpServers: [] }],
      ["session/new", { cwd, mcpServers: "none" }],
      ["session/load", { sessionId, cwd: "project", mcpServers: [] }],
      ["session/load", { sessionId, cwd }],
      ["session/load", { sessionId: 7, cwd, mcpServers: [] }],
      ["session/resume", { sessionId, cwd: "project" }],
      ["session/fork", { sessionId, cwd: "project" }],
      ["session/list", { cursor: 7 }],
      ["session/list", { cwd: "project" }],
      ["session/close", {}],
      ["session/delete", { sessionId: null }],
      ["session/set_title", { sessionId }],
      ["session/set_title", { sessionId, title: 7 }],
      ["session/set_mode", { sessionId, modeId: 7 }],
      ["session/set_mode", { sessionId, modeId: "sometimes" }],
      ["session/set_config_option", { sessionId, configId: "mode", type: "boolean", value: true }],
      ["session/prompt", { sessionId }],
      ["session/prompt", { sessionId, prompt: "hello" }],
      ["session/prompt", { sessionId, prompt: [{ type: "text" }] }],
      ["session/prompt", { sessionId, prompt: [{ type: "image", data: "!!!", mimeType: "image/png" }] }],
      ["session/prompt", { sessionId, prompt: [{ type: "image", data: "", mimeType: "image/png" }] }],
      ["session/prompt", { sessionId, prompt: [{ type: "resource", resource: { uri: "file:///a" } }] }],
      ["session/prompt", { sessionId, prompt: [{ type: "hologram", data: "AAEC" }] }],
    ];
    for (const [method, params] of wrong) {
      expect([method, params, errorIn(await editor.call(method, params))]).toEqual([
        method,
        params,
        expect.objectContaining({ code: -32602, message: expect.any(String) }),
      ]);
    }
    const { store, sessions } = await room.look();
    expect((await sessions.list(me)).items.map(({ id }) => id)).toEqual([sessionId]);
    expect(await store.messages.listMessages({ asker: me, session: sessionId })).toEqual([]);
    expect(editor.logged.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("a line", () => {
  it("of 37 MiB is refused by its id, and later requests work", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const running = editor.prompt(sessionId, "before");
    const prompt = [{ type: "text", text: "x".repeat(37 * MIB) }];
    expect(errorIn(await editor.call("session/prompt", { sessionId, prompt }))).toMatchObject({
      code: -32602,
      data: { code: "too_large" },
      message: expect.stringMatching(/36 MiB/),
    });
    // A notification over the limit is dropped.
    editor.write(JSON.stringify({ jsonrpc: "2.0", method: "_note", params: { text: "x".repeat(37 * MIB) } }));
    expect(await running).toEqual({ stopReason: "end_turn" });
    await editor.prompt(sessionId, "after");
    expect(editor.words(sessionId)).toBe("You said: beforeYou said: after");
  });

  it("of 32 MB with an image of 24 MB is stored and replayed", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const data = Buffer.alloc(24_000_000, "tide").toString("base64");
    const image = { type: "image", data, mimeType: "image/png" } as const;
    expect(await editor.prompt(sessionId, [{ type: "text", text: "look" }, image])).toEqual({
      stopReason: "end_turn",
    });
    const other = await room.editor();
    await other.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    // Compared as a boolean: a diff would be unreadable.
    const [, shown] = other.shown(sessionId, "user_message_chunk");
    expect(JSON.stringify(shown).includes(data)).toBe(true);
  });

  it("with a message over the limit is refused, and nothing is stored", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const data = Buffer.alloc(25 * MIB + 3, "tide").toString("base64");
    const prompt = [{ type: "image", data, mimeType: "image/png" }];
    expect(errorIn(await editor.call("session/prompt", { sessionId, prompt }))).toMatchObject({
      code: -32602,
      data: { code: "too_large" },
    });
    const { store } = await room.look();
    expect(await store.messages.listMessages({ asker: me, session: sessionId })).toEqual([]);
    expect(await store.inbox.listPending({ asker: me, session: sessionId })).toEqual([]);
  });
});

describe("an editor that disconnects", () => {
  it.each(["hangUp", "stop"] as const)("by %s keeps all messages, and every process ends", async (how) => {
    const agent = heldAgent();
    const room = editorRoom({ agent });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const quiet = await editor.open();
    const prompts = [editor.prompt(sessionId, "one"), editor.prompt(sessionId, "two")];
    for (const prompted of prompts) prompted.catch(() => {}); // the request gets no answer
    const answer = await agent.asked();
    await answer.say("Half an ans");
    await editor.until(() => editor.words(sessionId) || undefined);
    const { store } = await room.look();
    editor[how]();
    await editor.ended;
    expect(answer.signal.aborted).toBe(true);
    expect(await store.messages.listMessages({ asker: me, session: sessionId })).toMatchObject([
      { role: "user", parts: [{ text: "one" }] },
      { role: "assistant", parts: [{ text: "Half an ans" }], origin: { interrupted: true } },
    ]);
    expect(await store.messages.listMessages({ asker: me, session: quiet.sessionId })).toEqual([]);
    expect(editor.logged.filter(({ level }) => level === "error")).toEqual([]);
    // Nothing continues by itself: the next process finds the session unchanged.
    const next = await room.editor();
    await next.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    expect(next.words(sessionId)).toMatch(/^Half an ans/);
    const prompted = next.prompt(sessionId, "three");
    const again = await agent.asked();
    expect(again.turn.history.at(-1)).toMatchObject({ parts: [{ text: "three" }] });
    again.end();
    expect(await prompted).toEqual({ stopReason: "end_turn" });
  });

  const ways: Readonly<Record<string, (child: ReturnType<typeof startCli>["process"]) => unknown>> = {
    "closes the input": (child) => child.stdin.end(),
    "reads no more": (child) => child.stdout.destroy(),
    "sends SIGTERM": (child) => child.kill("SIGTERM"),
  };
  it.each(Object.entries(ways))(
    "makes the process end and keeps the messages when it %s",
    async (_, leave) => {
      const temporary = temporaryFolder();
      onTestFinished(() => temporary.remove());
      const home = join(temporary.path, "home");
      const file = join(temporary.path, "script.json");
      const ticking = [{ repeat: 10_000, say: ["tick ", { wait_ms: 20 }] }];
      writeFileSync(file, JSON.stringify({ answers: [{ say: ticking }] }));
      const { process: child, ended } = startCli(home, ["acp", "--agent", `script:${file}`]);
      const editor = editorAt(child.stdin, child.stdout, { cwd: temporary.path });
      await editor.initialize();
      const { sessionId } = await editor.open();
      editor.prompt(sessionId, "go").catch(() => {}); // the request gets no answer
      const shown = await editor.until(() =>
        editor.words(sessionId).length > 20 ? editor.words(sessionId) : undefined,
      );
      leave(child);
      expect(await ended).toMatchObject({ code: 0, signal: null, err: "" });
      const store = await sqliteStore({ file: join(home, "postrider.db"), mode: "in-process" });
      onTestFinished(() => store.close());
      const said = (await store.messages.listMessages({ asker: me, session: sessionId })) ?? [];
      expect(said).toMatchObject([{ role: "user" }, { role: "assistant", origin: { interrupted: true } }]);
      expect(said[1]?.parts).toMatchObject([{ text: expect.stringMatching(new RegExp(`^${shown}`)) }]);
    },
  );
});
