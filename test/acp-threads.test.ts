import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { ListSessionsResponse } from "@agentclientprotocol/sdk/unstable";
import { describe, expect, it } from "vitest";
import { script } from "../src/agents/script.ts";
import { errorIn } from "./acp/editor.ts";
import { type EditorRoom, editorRoom, me, repeating, type ServedEditor } from "./acp/editor-room.ts";
import { fakeClock } from "./support/test-home.ts";

const DAY = 24 * 60 * 60_000;

async function listed(editor: ServedEditor): Promise<ListSessionsResponse["sessions"]> {
  return (await editor.agent.request("session/list", {})).sessions;
}

/** The paths of all null values in a message. */
function nullsIn(value: unknown, path = ""): string[] {
  if (value === null) return [path];
  if (typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, one]) => nullsIn(one, `${path}.${name}`));
}

async function rowsIn(room: EditorRoom): Promise<number> {
  const { sessions } = await room.look();
  return (await sessions.list(me, { archived: "both" })).items.length;
}

async function hungUp(editor: ServedEditor): Promise<void> {
  editor.hangUp();
  await editor.ended;
}

describe("a field of the protocol without a value", () => {
  it("is absent, never null, in all messages to the editor", async () => {
    const room = editorRoom({
      agent: script({
        answers: [
          { to: "", say: [{ use: "write_file", arguments: { path: "new.txt", content: "a" } }, "done"] },
        ],
      }),
    });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, [{ type: "image", data: "AQID", mimeType: "image/png" }]);
    await editor.agent.request("session/list", {});
    await editor.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    await editor.agent.request("session/fork", { sessionId, cwd: room.cwd, mcpServers: [] });
    const nulls = editor.wire.flatMap((message) => nullsIn(message));
    // The protocol marks a new file this way.
    expect(nulls.filter((path) => !path.endsWith(".oldText"))).toEqual([]);
    const [untitled] = (await listed(editor)).filter((one) => one.sessionId === sessionId);
    expect(untitled).toEqual({ sessionId, cwd: room.cwd, updatedAt: expect.any(String) });
  });
});

describe("a thread without messages", () => {
  it("is not listed, can be loaded for a day, also by another process, and is then removed", async () => {
    const clock = fakeClock();
    const room = editorRoom({ agent: repeating(), clock });
    const editor = await room.editor();
    const unused = await editor.open();
    const chosen = await editor.open();
    await editor.agent.request("session/set_mode", { sessionId: chosen.sessionId, modeId: "allow" });
    const used = await editor.open();
    await editor.prompt(used.sessionId, "hello");
    expect((await listed(editor)).map(({ sessionId }) => sessionId)).toEqual([used.sessionId]);
    const load = { sessionId: unused.sessionId, cwd: room.cwd, mcpServers: [] };
    expect(errorIn(await editor.call("session/load", load))).toBeUndefined();
    await hungUp(editor);
    const next = await room.editor();
    expect(errorIn(await next.call("session/load", load))).toBeUndefined();
    clock.pass(DAY + 1);
    await hungUp(next);
    expect(await rowsIn(room)).toBe(1);
  });

  it("still works in an editor that has it open for longer", async () => {
    const clock = fakeClock();
    const room = editorRoom({ agent: repeating(), clock });
    const first = await room.editor();
    const { sessionId } = await first.open();
    clock.pass(8 * DAY);
    await hungUp(await room.editor());
    const second = await room.editor();
    await second.prompt((await second.open()).sessionId, "hello");
    await hungUp(second);
    expect(await rowsIn(room)).toBe(1);
    expect(await first.prompt(sessionId, "late")).toMatchObject({ stopReason: "end_turn" });
    expect(first.words(sessionId)).toContain("You said: late");
    expect(await rowsIn(room)).toBe(2);
  });
});

describe("the folder of a thread", () => {
  it("must exist for a new thread and a fork", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "hello");
    const gone = join(room.cwd, "gone");
    for (const [method, more] of [
      ["session/new", {}],
      ["session/fork", { sessionId }],
    ] as const) {
      const answer = await editor.call(method, { cwd: gone, mcpServers: [], ...more });
      expect([method, errorIn(answer)]).toEqual([
        method,
        expect.objectContaining({
          code: -32602,
          message: `There is no folder ${gone}. Open a folder that exists.`,
        }),
      ]);
    }
    expect(await rowsIn(room)).toBe(1);
  });

  it("may be missing for a stored thread: it opens, reports it, and its tools refuse", async () => {
    const agent = script({
      answers: [{ to: "", say: [{ use: "terminal", arguments: { command: "pwd" } }, "done"] }],
    });
    const room = editorRoom({ agent });
    const cwd = join(room.cwd, "sub");
    mkdirSync(cwd);
    const editor = await room.editor();
    const { sessionId } = await editor.agent.request("session/new", { cwd, mcpServers: [] });
    await editor.agent.request("session/set_mode", { sessionId, modeId: "allow" });
    await editor.prompt(sessionId, "hello");
    rmdirSync(cwd);
    const other = await room.editor();
    await other.agent.request("session/load", { sessionId, cwd, mcpServers: [] });
    await other.until(() => other.words(sessionId).includes(`The folder ${cwd} does not exist`) || undefined);
    expect(other.words(sessionId)).toContain("done");
    await other.prompt(sessionId, "again");
    const results = other.shown(sessionId, "tool_call_update");
    expect(JSON.stringify(results.at(-1))).toContain(`The folder ${cwd} does not exist`);
  });

  it("is sent as an absolute path, whatever is stored", async () => {
    const room = editorRoom({ agent: repeating() });
    const { sessions } = await room.look();
    for (const cwd of ["", "project", "./x"])
      await sessions.append(me, (await sessions.create(me, { kind: "editor", cwd })).id, {
        role: "user",
        text: "hello",
      });
    const editor = await room.editor();
    const folders = (await listed(editor)).map(({ cwd }) => cwd);
    expect(folders).toHaveLength(3);
    for (const folder of folders) expect(folder).toMatch(/^\//);
  });
});

describe("the log of the editor process", () => {
  it("has a line for each session that is created, restored or forked, with its id and folder", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "hello");
    const { cwd } = room;
    await editor.agent.request("session/load", { sessionId, cwd, mcpServers: [] });
    await editor.agent.request("session/resume", { sessionId, cwd });
    const fork = await editor.agent.request("session/fork", { sessionId, cwd });
    const lines = editor.logged.filter(({ words }) => words.startsWith("session "));
    expect(lines.map(({ level, words, fields }) => [level, words, fields])).toEqual([
      ["info", "session created", { session: sessionId, cwd }],
      ["info", "session restored", { session: sessionId, cwd }],
      ["info", "session restored", { session: sessionId, cwd }],
      ["info", "session forked", { session: fork.sessionId, from: sessionId, cwd }],
    ]);
  });
});

describe("a session that was deleted in another window", () => {
  it("is not created again by a prompt, which gets an error", async () => {
    const room = editorRoom({ agent: repeating() });
    const [a, b] = [await room.editor(), await room.editor()];
    const { sessionId } = await a.open();
    await a.prompt(sessionId, "hello");
    await b.agent.request("session/delete", { sessionId });
    const prompt = [{ type: "text", text: "still there?" }];
    expect(errorIn(await a.call("session/prompt", { sessionId, prompt }))).toMatchObject({
      code: -32002,
      message: expect.stringContaining("was deleted"),
    });
    expect(await listed(a)).toEqual([]);
    expect(await rowsIn(room)).toBe(0);
  });
});
