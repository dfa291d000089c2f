import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type {
  AnyMessage,
  AnyResponse,
  ListSessionsResponse,
  SessionUpdate,
} from "@agentclientprotocol/sdk/unstable";
import { describe, expect, it } from "vitest";
import { script } from "../src/agents/script.ts";
import { getText, OWNER } from "../src/index.ts";
import type { Agent } from "../src/ports/agent.ts";
import { errorIn } from "./acp/editor.ts";
import {
  type EditorRoom,
  editorRoom,
  HOW_TO_CONNECT,
  me,
  repeating,
  type ServedEditor,
} from "./acp/editor-room.ts";
import { rowsIn } from "./support/talking.ts";
import { fakeClock, MINUTE } from "./support/test-home.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NOBODY = "00000000-0000-4000-8000-000000000000";

async function roomWith(agent: Agent = repeating()): Promise<{ room: EditorRoom; editor: ServedEditor }> {
  const room = editorRoom({ agent });
  return { room, editor: await room.editor() };
}

/** The received messages: `answer`, or the kind of the update. */
function order(wire: readonly AnyMessage[], sessionId?: string): string[] {
  return wire.flatMap((message) => {
    if (!("method" in message)) return ["answer"];
    const params = message.params as { sessionId?: string; update?: SessionUpdate } | undefined;
    if (params?.update === undefined || (sessionId !== undefined && params.sessionId !== sessionId))
      return [];
    return [params.update.sessionUpdate];
  });
}

describe("initialize", () => {
  it.each([0, 1, 2, 99])("answers version 1 to an editor with version %i", async (version) => {
    const editor = await editorRoom({ agent: repeating() }).editor({ initialized: false });
    expect(await editor.initialize({}, version)).toEqual({
      protocolVersion: 1,
      agentInfo: { name: "postrider", title: "Postrider", version: "1.2.3" },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, fork: {}, title: {} },
      },
      authMethods: [],
    });
  });

  it("announces only capabilities that have a handler", async () => {
    const { room, editor } = await roomWith();
    const { cwd } = room;
    const { sessionId } = await editor.open();
    const claimed: [string, object][] = [
      ["session/prompt", { sessionId, prompt: [{ type: "text", text: "hello" }] }],
      ["session/list", {}],
      ["session/load", { sessionId, cwd, mcpServers: [] }],
      ["session/resume", { sessionId, cwd }],
      ["session/fork", { sessionId, cwd }],
      ["session/set_title", { sessionId, title: "a title" }],
      ["session/set_mode", { sessionId, modeId: "allow" }],
      ["session/set_config_option", { sessionId, configId: "mode", value: "ask" }],
      ["session/close", { sessionId }],
      ["session/delete", { sessionId }],
    ];
    for (const [method, params] of claimed) {
      expect([method, await editor.call(method, params)]).toEqual([
        method,
        { jsonrpc: "2.0", id: expect.any(String), result: expect.any(Object) },
      ]);
    }
  });

  it("announces no capability without a handler, and refuses unknown methods", async () => {
    const { editor } = await roomWith();
    const { sessionId } = await editor.open();
    const unclaimed = [
      ...["logout", "auth/status", "providers/list", "providers/set", "providers/disable"],
      ...["session/status", "session/archive", "session/unarchive", "session/set_model", "mcp/message"],
      ...["_anything", "_postrider/nothing", "nothing", ""],
    ];
    for (const method of unclaimed) {
      const answer = errorIn(await editor.call(method, { sessionId }));
      expect([method, answer]).toEqual([method, expect.objectContaining({ code: -32601 })]);
    }
    editor.write(JSON.stringify({ jsonrpc: "2.0", method: "_anything", params: { sessionId } }));
    expect(await editor.prompt(sessionId, "hello")).toEqual({ stopReason: "end_turn" });
  });
});

describe("without a model", () => {
  it("explains how to connect one, creates nothing, and continues when one is connected", async () => {
    let agent: Agent | undefined;
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor({ initialized: false, agent: () => agent });
    const { authMethods } = await editor.initialize();
    expect(authMethods).toEqual([{ id: "model", name: "Connect a model", description: HOW_TO_CONNECT }]);

    const refused = { code: -32000, message: expect.stringContaining(HOW_TO_CONNECT) };
    expect(errorIn(await editor.call("session/new", { cwd: room.cwd, mcpServers: [] }))).toMatchObject(
      refused,
    );
    expect(await editor.agent.request("session/list", {})).toEqual({ sessions: [] });
    expect(errorIn(await editor.call("authenticate", { methodId: "model" }))).toMatchObject(refused);
    expect(errorIn(await editor.call("authenticate", { methodId: "other" }))).toMatchObject({ code: -32602 });

    agent = repeating();
    expect(errorIn(await editor.call("session/new", { cwd: room.cwd, mcpServers: [] }))).toMatchObject(
      refused,
    );
    expect(await editor.agent.request("authenticate", { methodId: "model" })).toEqual({});
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "hello");
    expect(editor.words(sessionId)).toBe("You said: hello");
    const { sessions } = await room.look();
    expect((await sessions.list(me)).items.map(({ id }) => id)).toEqual([sessionId]);
  });

  it("shows stored messages and refuses prompts", async () => {
    const room = editorRoom({ agent: repeating() });
    const first = await room.editor();
    const { sessionId } = await first.open();
    await first.prompt(sessionId, "hello");
    const editor = await room.editor({ agent: () => undefined });
    await editor.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    expect(editor.words(sessionId)).toBe("You said: hello");
    const { store } = await room.look();
    const before = await store.messages.listMessages({ asker: me, session: sessionId });
    const asked = { sessionId, prompt: [{ type: "text", text: "and now?" }] };
    expect(errorIn(await editor.call("session/prompt", asked))).toMatchObject({ code: -32000 });
    expect(await store.messages.listMessages({ asker: me, session: sessionId })).toEqual(before);
    expect(await store.inbox.listPending({ asker: me, session: sessionId })).toEqual([]);
  });
});

describe("session/new", () => {
  it("creates a session of the owner in the folder, and returns its options", async () => {
    const { room, editor } = await roomWith();
    const made = await editor.open();
    expect(made).toEqual({
      sessionId: expect.stringMatching(UUID),
      modes: {
        currentModeId: "ask",
        availableModes: [
          { id: "ask", name: "Ask", description: expect.any(String) },
          { id: "allow", name: "Allow", description: expect.any(String) },
          { id: "deny", name: "Deny", description: expect.any(String) },
        ],
      },
      configOptions: [
        expect.objectContaining({ id: "mode", category: "mode", type: "select", currentValue: "ask" }),
        expect.objectContaining({
          id: "model",
          category: "model",
          type: "select",
          currentValue: "default",
          options: [{ value: "default", name: "script (as configured)" }],
        }),
        expect.objectContaining({ id: "reasoning", category: "thought_level", currentValue: "default" }),
      ],
    });
    const { sessions, store } = await room.look();
    expect(await sessions.get(me, made.sessionId)).toMatchObject({
      kind: "editor",
      owner: OWNER,
      cwd: room.cwd,
      messageCount: 0,
    });
    expect(await store.conversations.findConversations({ asker: me, session: made.sessionId })).toHaveLength(
      1,
    );
  });

  it("is answered before any update of the session; the commands follow, and again with the first prompt", async () => {
    const { editor } = await roomWith(repeating({ models: ["a", "b"] }));
    const { sessionId } = await editor.open();
    await editor.until(() => editor.shown(sessionId, "available_commands_update")[0]);
    await editor.prompt(sessionId, "hello");
    await editor.prompt(sessionId, "hello again");
    const [opened, ...after] = order(editor.wire.slice(1));
    expect(opened).toBe("answer");
    expect(
      after.slice(0, after.indexOf("agent_message_chunk")).filter((kind) => kind.startsWith("avail")),
    ).toEqual(["available_commands_update", "available_commands_update"]);
    const commands = editor.shown(sessionId, "available_commands_update");
    expect(commands).toHaveLength(2);
    expect(commands[1]).toEqual(commands[0]);
    expect(commands[0]).toMatchObject({
      availableCommands: expect.arrayContaining([
        { name: "new", description: expect.any(String), input: { hint: "[TITLE]" } },
        { name: "undo", description: expect.any(String) },
      ]),
    });
    const names = commands.flatMap((update) =>
      "availableCommands" in update ? update.availableCommands : [],
    );
    for (const name of ["resume", "fork", "queue", "pair", "busy", "background", "quit"])
      expect(names.map((command) => command.name)).not.toContain(name);
  });

  it("offers the agent's models as soon as they are known", async () => {
    const { editor } = await roomWith(repeating({ models: ["a", "b"] }));
    const { sessionId } = await editor.open();
    const [update] = await editor.until(() => {
      const shown = editor.shown(sessionId, "config_option_update");
      return shown.length > 0 ? shown : undefined;
    });
    expect(update).toMatchObject({
      configOptions: expect.arrayContaining([
        expect.objectContaining({
          id: "model",
          options: [
            { value: "default", name: "script (as configured)" },
            { value: "a", name: "a" },
            { value: "b", name: "b" },
          ],
        }),
      ]),
    });
    const [opened, ...after] = order(editor.wire.slice(1));
    expect([opened, after.includes("config_option_update")]).toEqual(["answer", true]);
  });
});

/** Every kind of content in a session. */
const RICH = script({
  answers: [
    {
      to: "look",
      say: [
        { think: "They want to see it." },
        "Let me look.",
        { plan: ["read it", { text: "tell them", state: "in_progress" }] },
        { tool: "read_file", arguments: { path: "notes.md" }, result: "tide at nine" },
        { tool: "write_file", arguments: { path: "out.md", content: "nine" }, run: ["false"] },
        "High tide is at nine.",
      ],
    },
    { say: ["You said: ", { echo: true }] },
  ],
});
const PNG = Buffer.from("no real picture").toString("base64");

describe("session/load", () => {
  it("shows every message of the session once and in order, then answers", async () => {
    const room = editorRoom({ agent: RICH });
    const first = await room.editor();
    const { sessionId, modes } = await first.open();
    await first.prompt(sessionId, [
      { type: "text", text: "look at this" },
      { type: "image", data: PNG, mimeType: "image/png" },
      {
        type: "resource",
        resource: { uri: "file:///a/notes.md", mimeType: "text/markdown", text: "# Notes" },
      },
      {
        type: "resource",
        resource: { uri: "file:///a/data.bin", mimeType: "application/zip", blob: "AAEC" },
      },
      { type: "resource_link", uri: "file:///a/more.md", name: "more.md" },
      { type: "audio", data: "AAEC", mimeType: "audio/wav" },
    ]);
    await first.prompt(sessionId, "thanks");

    const editor = await room.editor();
    const before = editor.wire.length;
    const loaded = await editor.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    expect(loaded).toEqual({ modes, configOptions: expect.any(Array) });
    const answered = editor.wire.findIndex((message, at) => at >= before && !("method" in message));
    const shown = editor.wire.slice(before, answered).map((message) => {
      const { update } = (message as unknown as { params: { update: SessionUpdate } }).params;
      return update;
    });
    const [user, answer, last, reply] = [1, 2, 6, 7].map((seq) => `${sessionId}:${seq}`);
    const text = (words: string): object => ({ type: "text", text: words });
    expect(shown).toEqual([
      { sessionUpdate: "user_message_chunk", messageId: user, content: text("look at this") },
      {
        sessionUpdate: "user_message_chunk",
        messageId: user,
        content: { type: "image", data: PNG, mimeType: "image/png" },
      },
      {
        sessionUpdate: "user_message_chunk",
        messageId: user,
        content: {
          type: "resource",
          resource: { uri: "file:///a/notes.md", mimeType: "text/markdown", text: "# Notes" },
        },
      },
      {
        sessionUpdate: "user_message_chunk",
        messageId: user,
        content: {
          type: "resource",
          resource: { uri: "file:///a/data.bin", mimeType: "application/zip", blob: "AAEC" },
        },
      },
      {
        sessionUpdate: "user_message_chunk",
        messageId: user,
        content: { type: "resource_link", uri: "file:///a/more.md", name: "more.md" },
      },
      {
        sessionUpdate: "user_message_chunk",
        messageId: user,
        content: { type: "audio", data: "AAEC", mimeType: "audio/wav" },
      },
      { sessionUpdate: "agent_thought_chunk", messageId: answer, content: text("They want to see it.") },
      { sessionUpdate: "agent_message_chunk", messageId: answer, content: text("Let me look.") },
      {
        sessionUpdate: "plan",
        entries: [
          { content: "read it", priority: "medium", status: "pending" },
          { content: "tell them", priority: "medium", status: "in_progress" },
        ],
      },
      expect.objectContaining({
        sessionUpdate: "tool_call",
        title: "Read notes.md",
        kind: "read",
        status: "completed",
        locations: [{ path: join(room.cwd, "notes.md") }],
        rawInput: { path: "notes.md" },
        rawOutput: "tide at nine",
      }),
      expect.objectContaining({ sessionUpdate: "tool_call", kind: "edit", status: "failed" }),
      { sessionUpdate: "agent_message_chunk", messageId: last, content: text("High tide is at nine.") },
      { sessionUpdate: "user_message_chunk", messageId: reply, content: text("thanks") },
      {
        sessionUpdate: "agent_message_chunk",
        messageId: `${sessionId}:8`,
        content: text("You said: thanks"),
      },
    ]);
    await editor.until(() => editor.shown(sessionId, "available_commands_update")[0]);
    // The follower does not repeat stored messages.
    expect(order(editor.wire.slice(answered), sessionId).filter((kind) => kind.endsWith("_chunk"))).toEqual(
      [],
    );
  });

  it("uses the same ids as the live updates", async () => {
    const room = editorRoom({ agent: RICH });
    const first = await room.editor();
    const { sessionId } = await first.open();
    await first.prompt(sessionId, "look at this");
    const editor = await room.editor();
    await editor.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    const names = (from: ServedEditor): unknown[] => [
      ...new Set(
        from.shown(sessionId).flatMap((update) => {
          if ("messageId" in update)
            return update.sessionUpdate === "user_message_chunk" ? [] : [update.messageId];
          return "toolCallId" in update ? [update.toolCallId] : [];
        }),
      ),
    ];
    expect(names(editor)).toEqual(names(first));
    expect(names(editor)).toHaveLength(4);
  });

  it("changes the folder to the one of the request", async () => {
    const { room, editor } = await roomWith();
    const { sessionId } = await editor.open();
    const elsewhere = join(room.cwd, "elsewhere");
    mkdirSync(elsewhere);
    await editor.agent.request("session/load", { sessionId, cwd: elsewhere, mcpServers: [] });
    const { sessions } = await room.look();
    expect((await sessions.get(me, sessionId))?.cwd).toBe(elsewhere);
  });

  it("twice in one editor shows every message twice, and the next message once", async () => {
    const { room, editor } = await roomWith();
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "one");
    const load = { sessionId, cwd: room.cwd, mcpServers: [] };
    await Promise.all([
      editor.agent.request("session/load", load),
      editor.agent.request("session/load", load),
    ]);
    await editor.prompt(sessionId, "two");
    const other = await room.editor();
    await other.agent.request("session/load", load);
    await other.prompt(sessionId, "three");
    await editor.until(() => editor.words(sessionId).includes("three") || undefined);
    expect(editor.words(sessionId)).toBe(
      ["one", "one", "one", "two", "three"].map((said) => `You said: ${said}`).join(""),
    );
  });

  it("of an unknown session is an error", async () => {
    const { room, editor } = await roomWith();
    for (const sessionId of [NOBODY, "", "..", "a/b", "x".repeat(300)]) {
      for (const method of ["session/load", "session/resume", "session/fork"]) {
        const answer = errorIn(await editor.call(method, { sessionId, cwd: room.cwd, mcpServers: [] }));
        expect(answer).toMatchObject({ code: -32002, data: { code: "not_found" } });
      }
    }
  });
});

describe("session/resume", () => {
  it("shows no stored message before or after its answer, and the session continues", async () => {
    const room = editorRoom({ agent: RICH });
    const first = await room.editor();
    const { sessionId, modes } = await first.open();
    await first.prompt(sessionId, "look at this");
    const editor = await room.editor();
    const resumed = await editor.agent.request("session/resume", { sessionId, cwd: room.cwd });
    expect(resumed).toEqual({ modes, configOptions: expect.any(Array) });
    expect(order(editor.wire.slice(1), sessionId)[0]).toBe("answer");
    await editor.until(() => editor.shown(sessionId, "available_commands_update")[0]);
    expect(order(editor.wire.slice(1), sessionId)).toEqual(["answer", "available_commands_update"]);
    await editor.prompt(sessionId, "thanks");
    expect(editor.words(sessionId)).toBe("You said: thanks");
    expect(editor.shown(sessionId, "user_message_chunk")).toEqual([]);
  });
});

function idsIn({ sessions }: ListSessionsResponse): string[] {
  return sessions.map(({ sessionId }) => sessionId);
}

describe("session/list", () => {
  it("is empty without sessions, and refuses an invalid cursor", async () => {
    const { editor } = await roomWith();
    expect(await editor.agent.request("session/list", {})).toEqual({ sessions: [] });
    for (const cursor of ["", "nonsense", "e30=", "9".repeat(500)]) {
      expect([cursor, errorIn(await editor.call("session/list", { cursor }))]).toEqual([
        cursor,
        expect.objectContaining({ code: -32602, data: { code: "invalid_input" } }),
      ]);
    }
  });

  it("contains the editor sessions, newest first, each with its title or its first words", async () => {
    const clock = fakeClock();
    const room = editorRoom({ agent: repeating(), clock });
    const editor = await room.editor();
    const { sessions } = await room.look();
    const spoken = await editor.open();
    await editor.prompt(spoken.sessionId, "when is high tide?");
    clock.pass(MINUTE);
    const other = join(room.cwd, "other");
    mkdirSync(other);
    const titled = await editor.agent.request("session/new", { cwd: other, mcpServers: [] });
    await sessions.title(me, titled.sessionId, "Tides");
    await editor.prompt(titled.sessionId, "hello");
    await sessions.create(me, { title: "from the library", cwd: room.cwd });
    const at = (minutes: number): string => new Date(clock.time - minutes * MINUTE).toISOString();
    expect(await editor.agent.request("session/list", {})).toEqual({
      sessions: [
        { sessionId: titled.sessionId, cwd: other, title: "Tides", updatedAt: at(0) },
        { sessionId: spoken.sessionId, cwd: room.cwd, title: "when is high tide?", updatedAt: at(1) },
      ],
    });
    const listed = async (params: { cwd: string }): Promise<string[]> =>
      idsIn(await editor.agent.request("session/list", params));
    expect(await listed({ cwd: other })).toEqual([titled.sessionId]);
    expect(await listed({ cwd: room.cwd })).toEqual([spoken.sessionId]);
    expect(await listed({ cwd: `${room.cwd}/` })).toEqual([]);
    expect(await listed({ cwd: "/" })).toEqual([]);
    expect(errorIn(await editor.call("session/list", { cwd: "project" }))).toMatchObject({ code: -32602 });
  });

  it("contains sessions of messengers and terminals only with --all", async () => {
    const room = editorRoom({ agent: repeating() });
    const { sessions } = await room.look();
    const chat = await sessions.create(me, { title: "a chat" });
    const job = await sessions.create(me, { kind: "job", title: "a job" });
    const theirs = await sessions.create({ person: "somebody" }, { kind: "editor", title: "not yours" });
    const few = await room.editor();
    const all = await room.editor({ all: true });
    expect((await few.agent.request("session/list", {})).sessions).toEqual([]);
    const listed = (await all.agent.request("session/list", {})).sessions;
    expect(new Map(listed.map(({ sessionId, cwd, title }) => [sessionId, { cwd, title }]))).toEqual(
      new Map([
        [chat.id, { cwd: homedir(), title: "a chat" }],
        [job.id, { cwd: homedir(), title: "a job" }],
      ]),
    );
    for (const { id } of [chat, job, theirs]) {
      const load = { sessionId: id, cwd: room.cwd, mcpServers: [] };
      expect(errorIn(await few.call("session/load", load))).toMatchObject({ code: -32002 });
    }
    expect(
      errorIn(await all.call("session/load", { sessionId: theirs.id, cwd: room.cwd, mcpServers: [] })),
    ).toMatchObject({
      code: -32002,
    });
  });

  it("contains every session once over pages of 50, while sessions are added and used", async () => {
    const clock = fakeClock();
    const room = editorRoom({ agent: repeating(), clock });
    const editor = await room.editor();
    const { sessions } = await room.look();
    const ids: string[] = [];
    for (let count = 0; count < 120; count += 1) {
      clock.pass(count % 3 === 0 ? MINUTE : 0); // several at the same instant
      ids.push((await sessions.create(me, { kind: "editor", cwd: room.cwd, title: `number ${count}` })).id);
    }
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let cursor: string | undefined; ; ) {
      const page: ListSessionsResponse = await editor.agent.request(
        "session/list",
        cursor === undefined ? {} : { cursor },
      );
      sizes.push(page.sessions.length);
      seen.push(...page.sessions.map(({ sessionId }) => sessionId));
      if (page.nextCursor == null) break;
      cursor = page.nextCursor;
      clock.pass(MINUTE);
      await sessions.create(me, { kind: "editor", cwd: room.cwd });
      // A listed session becomes the newest: it must not repeat, nor hide another.
      await sessions.append(me, seen[0] ?? "", { role: "user", text: "touched" });
    }
    expect(sizes).toEqual([50, 50, 20]);
    expect(new Set(seen)).toEqual(new Set(ids));
    expect(seen).toHaveLength(ids.length);
  });
});

describe("session/fork", () => {
  it("creates an independent copy with its parent", async () => {
    const { room, editor } = await roomWith();
    const { sessionId, modes } = await editor.open();
    await editor.prompt(sessionId, "one");
    const before = editor.wire.length;
    const cwd = join(room.cwd, "copy");
    mkdirSync(cwd);
    const forked = await editor.agent.request("session/fork", { sessionId, cwd });
    expect(forked).toEqual({
      sessionId: expect.stringMatching(UUID),
      modes,
      configOptions: expect.any(Array),
    });
    expect(forked.sessionId).not.toBe(sessionId);
    expect(order(editor.wire.slice(before), forked.sessionId)[0]).toBe("answer");
    await Promise.all([editor.prompt(sessionId, "here"), editor.prompt(forked.sessionId, "there")]);
    expect(editor.words(forked.sessionId)).toBe("You said: there");

    const { sessions } = await room.look();
    const said = async (id: string): Promise<string[]> =>
      ((await sessions.history(me, id)) ?? []).map(getText);
    expect(await said(sessionId)).toEqual(["one", "You said: one", "here", "You said: here"]);
    expect(await said(forked.sessionId)).toEqual(["one", "You said: one", "there", "You said: there"]);
    expect(await sessions.get(me, forked.sessionId)).toMatchObject({
      kind: "editor",
      cwd,
      parent: sessionId,
    });

    await editor.agent.request("session/delete", { sessionId });
    const other = await room.editor();
    await other.agent.request("session/load", { sessionId: forked.sessionId, cwd, mcpServers: [] });
    expect(other.words(forked.sessionId)).toBe("You said: oneYou said: there");
  });
});

describe("session/delete", () => {
  it("removes the session and its messages permanently, and accepts an unknown id", async () => {
    const { room, editor } = await roomWith();
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "a secret word");
    expect(await editor.call("session/delete", { sessionId })).toMatchObject({ result: {} });
    expect(await editor.call("session/delete", { sessionId })).toMatchObject({ result: {} });
    expect(await editor.call("session/delete", { sessionId: NOBODY })).toMatchObject({ result: {} });
    expect(await editor.call("session/delete", { sessionId: "../x" })).toMatchObject({ result: {} });
    expect(await editor.agent.request("session/list", {})).toEqual({ sessions: [] });
    const prompt = { sessionId, prompt: [{ type: "text", text: "still there?" }] };
    expect(errorIn(await editor.call("session/prompt", prompt))).toMatchObject({ code: -32002 });
    expect(JSON.stringify(rowsIn(room.database))).not.toContain("secret word");
  });

  it("does not remove sessions of other people, messengers or terminals", async () => {
    const { room, editor } = await roomWith();
    const { sessions } = await room.look();
    const chat = await sessions.create(me, { title: "a chat" });
    const theirs = await sessions.create({ person: "somebody" }, { kind: "editor" });
    for (const { id } of [chat, theirs])
      expect(await editor.call("session/delete", { sessionId: id })).toMatchObject({ result: {} });
    expect(await sessions.get({ everyone: true }, chat.id)).toBeDefined();
    expect(await sessions.get({ everyone: true }, theirs.id)).toBeDefined();
  });
});

describe("session/close", () => {
  it("of an unknown session is an error; of one that is not open does nothing", async () => {
    const { room, editor } = await roomWith();
    const { sessionId } = await editor.open();
    expect(errorIn(await editor.call("session/close", { sessionId: NOBODY }))).toMatchObject({
      code: -32002,
    });
    const other = await room.editor();
    expect(await other.call("session/close", { sessionId })).toMatchObject({ result: {} });
    expect(await editor.call("session/close", { sessionId })).toMatchObject({ result: {} });
    // It can be opened again, and prompts still work.
    expect(await editor.prompt(sessionId, "hello")).toEqual({ stopReason: "end_turn" });
    expect(editor.words(sessionId)).toBe("You said: hello");
  });
});

describe("session/set_title", () => {
  it("returns the title, with a number if another session has it", async () => {
    const { room, editor } = await roomWith();
    const { sessions } = await room.look();
    await sessions.create(me, { title: "Tides" });
    const { sessionId } = await editor.open();
    const entitle = (title: string): Promise<AnyResponse> =>
      editor.call("session/set_title", { sessionId, title });
    expect(await entitle("  High\nwater  ")).toMatchObject({ result: { title: "High water" } });
    expect(await entitle("High water")).toMatchObject({ result: { title: "High water" } });
    expect(await entitle("Tides")).toMatchObject({ result: { title: "Tides #2" } });
    expect((await sessions.get(me, sessionId))?.title).toBe("Tides #2");
    // Stored as typed.
    expect(await entitle('Title: "the long tide"')).toMatchObject({
      result: { title: 'Title: "the long tide"' },
    });
    const long = "x".repeat(100);
    expect(await entitle(long)).toMatchObject({ result: { title: long } });
    expect(errorIn(await entitle(`${long}x`))).toMatchObject({
      code: -32602,
      data: { code: "invalid_input" },
    });
    // An empty title changes nothing.
    expect(await entitle(" \n ")).toMatchObject({ result: { title: long } });
    expect(await entitle("Tides")).toMatchObject({ result: { title: "Tides #2" } });
    expect((await editor.agent.request("session/list", {})).sessions[0]?.title).toBe("Tides #2");
  });
});

describe("an option of a session", () => {
  it("is set as mode or as option, sent in both forms, and kept for the next load", async () => {
    const { room, editor } = await roomWith(repeating({ models: ["a"] }));
    const { sessionId } = await editor.open();
    await editor.until(() => editor.shown(sessionId, "config_option_update")[0]);
    expect(await editor.agent.request("session/set_mode", { sessionId, modeId: "deny" })).toEqual({});
    const choose = async (configId: string, value: string): Promise<unknown> => {
      const { configOptions } = await editor.agent.request("session/set_config_option", {
        sessionId,
        configId,
        value,
      });
      return Object.fromEntries(
        configOptions.map((option) => [
          option.id,
          "currentValue" in option ? option.currentValue : undefined,
        ]),
      );
    };
    expect(await choose("model", "a")).toEqual({ mode: "deny", model: "a", reasoning: "default" });
    expect(await choose("reasoning", "high")).toEqual({ mode: "deny", model: "a", reasoning: "high" });
    expect(await choose("mode", "allow")).toEqual({ mode: "allow", model: "a", reasoning: "high" });
    expect(editor.shown(sessionId, "current_mode_update").at(-1)).toEqual({
      sessionUpdate: "current_mode_update",
      currentModeId: "allow",
    });
    const other = await room.editor();
    const { modes, configOptions } = await other.agent.request("session/resume", {
      sessionId,
      cwd: room.cwd,
    });
    expect(modes?.currentModeId).toBe("allow");
    expect(configOptions?.map((option) => ("currentValue" in option ? option.currentValue : ""))).toEqual([
      "allow",
      "a",
      "high",
    ]);
    expect(await choose("model", "default")).toMatchObject({ model: "default" });
    expect(await choose("reasoning", "default")).toMatchObject({ reasoning: "default" });
  });

  it("reaches the agent", async () => {
    const agent = script({
      models: ["a"],
      answers: [{ say: [{ model: true }, " ", { reasoning: true }, " ", { cwd: true }] }],
    });
    const { room, editor } = await roomWith(agent);
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "what are you?");
    await editor.agent.request("session/set_config_option", { sessionId, configId: "model", value: "a" });
    await editor.agent.request("session/set_config_option", {
      sessionId,
      configId: "reasoning",
      value: "low",
    });
    await editor.prompt(sessionId, "and now?");
    expect(editor.words(sessionId)).toBe(`script default ${room.cwd}a low ${room.cwd}`);
  });

  it.each([
    ["mode", "sometimes"],
    ["model", "two words"],
    ["model", ""],
    ["reasoning", "a lot"],
    ["colour", "blue"],
  ])("refuses %s %j", async (configId, value) => {
    const { editor } = await roomWith();
    const { sessionId } = await editor.open();
    const asked = { sessionId, configId, value };
    expect(errorIn(await editor.call("session/set_config_option", asked))).toMatchObject({
      code: -32602,
      data: { code: "invalid_input" },
    });
    expect(errorIn(await editor.call("session/set_mode", { sessionId, modeId: value }))).toMatchObject({
      code: -32602,
    });
    expect(
      errorIn(await editor.call("session/set_mode", { sessionId: NOBODY, modeId: "ask" })),
    ).toMatchObject({
      code: -32002,
    });
  });
});
