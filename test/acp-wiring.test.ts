import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { script } from "../src/agents/script.ts";
import { editorRoom, repeating } from "./acp/editor-room.ts";
import { look } from "./support/database.ts";

const PROGRAM = fileURLToPath(new URL("acp/mcp-server.ts", import.meta.url));

it("compresses a thread that nearly fills the model's context window, and shows a notice", async () => {
  const agent = script({ window: 600, answers: [{ say: ["ok"] }] });
  const room = editorRoom({ agent, gateway: { compressAt: 0.5 } });
  const editor = await room.editor();
  const { sessionId } = await editor.open();
  for (let said = 0; said < 8; said += 1) await editor.prompt(sessionId, `${said}: ${"word ".repeat(60)}`);
  expect(editor.words(sessionId)).toContain("its beginning was summed up");
});

it("ends the MCP servers of a closed thread", async () => {
  const room = editorRoom({ agent: repeating() });
  const editor = await room.editor();
  const starter = join(room.cwd, "start.sh");
  const pid = join(room.cwd, "pid");
  writeFileSync(starter, `echo $$ > '${pid}'; exec "$@"\n`);
  const args = [starter, process.execPath, PROGRAM];
  const { sessionId } = await editor.agent.request("session/new", {
    cwd: room.cwd,
    mcpServers: [{ name: "test", command: "/bin/sh", args, env: [] }],
  });
  await editor.prompt(sessionId, "hello");
  const runs = (): boolean => {
    try {
      process.kill(Number(readFileSync(pid, "utf8")), 0);
      return true;
    } catch {
      return false;
    }
  };
  expect(runs()).toBe(true);
  await editor.agent.request("session/close", { sessionId });
  await vi.waitFor(() => expect(runs()).toBe(false), 5000);
});

it("writes an export into the folder of the thread", async () => {
  const room = editorRoom({ agent: repeating() });
  const editor = await room.editor();
  const { sessionId } = await editor.open();
  await editor.prompt(sessionId, "hello");
  await editor.prompt(sessionId, "/export md");
  expect(readdirSync(room.cwd)).toEqual([expect.stringMatching(/\.md$/)]);
});

it("removes its runner when the editor disconnects", async () => {
  const room = editorRoom({ agent: repeating() });
  const editor = await room.editor();
  const { sessionId } = await editor.open();
  await editor.prompt(sessionId, "hello");
  const runners = (): unknown =>
    look(room.database, (db) => db.prepare("select count(*) from runners").pluck().get());
  expect(runners()).toBe(1);
  editor.hangUp();
  await editor.ended;
  expect(runners()).toBe(0);
});
