import { fileURLToPath } from "node:url";
import type { McpServerStdio } from "@agentclientprotocol/sdk/unstable";
import { describe, expect, it } from "vitest";
import { script } from "../src/agents/script.ts";
import type { Agent, AgentTurn } from "../src/ports/agent.ts";
import { errorIn } from "./acp/editor.ts";
import { editorRoom, repeating } from "./acp/editor-room.ts";
import { heldAgent } from "./support/talking.ts";

const PROGRAM = fileURLToPath(new URL("acp/mcp-server.ts", import.meta.url));

function server(name: string, ...flags: readonly string[]): McpServerStdio {
  return { name, command: process.execPath, args: [PROGRAM, ...flags], env: [] };
}

function using(tool: string): Agent {
  return script({ answers: [{ to: "", say: [{ use: tool, arguments: { a: 1, b: 2 } }, "Done."] }] });
}

describe("a malformed entry among an editor's MCP servers", () => {
  it("is skipped with a notice that names it, and the session opens", async () => {
    const room = editorRoom({ agent: using("good__add") });
    const editor = await room.editor();
    const { command, args } = server("good");
    const mcpServers = [
      { name: "no command", args: [], env: [] },
      { name: "odd args", command, args: "all", env: [] },
      { name: "odd env", command, args, env: { A: "b" } },
      { type: "http", name: "no url", headers: [] },
      { type: "pigeon", name: "odd type" },
      { command, args, env: [] },
      "nonsense",
      { name: "good", command, args },
    ];
    const made = await editor.call("session/new", { cwd: room.cwd, mcpServers });
    expect(errorIn(made)).toBeUndefined();
    const { sessionId } = (made as { result: { sessionId: string } }).result;
    await editor.prompt(sessionId, "add");
    expect(editor.shown(sessionId, "tool_call_update")).toMatchObject([
      { status: "completed", rawOutput: "3" },
    ]);
    const words = await editor.until(() => {
      const said = editor.words(sessionId);
      return said.includes("left out") ? said : undefined;
    });
    for (const sentence of [
      "The MCP server no command is left out: its command is not a string.",
      "The MCP server odd args is left out: its args are not a list of strings.",
      "The MCP server odd env is left out: its env is not a list of objects with name and value.",
      "The MCP server no url is left out: its url is not a string.",
      'The MCP server odd type is left out: its type "pigeon" is not one of stdio, http and sse.',
      "The MCP server number 6 is left out: it has no name.",
      "The MCP server number 7 is left out: it is not an object.",
    ])
      expect(words).toContain(sentence);
    for (const [method, more] of [
      ["session/load", {}],
      ["session/resume", {}],
      ["session/fork", {}],
    ] as const) {
      const params = { sessionId, cwd: room.cwd, mcpServers: mcpServers.slice(0, 2), ...more };
      expect([method, errorIn(await editor.call(method, params))]).toEqual([method, undefined]);
    }
  });

  it("does not hide a list that is missing or not a list", async () => {
    const room = editorRoom({ agent: repeating() });
    const editor = await room.editor();
    for (const mcpServers of [undefined, "none", {}])
      expect(errorIn(await editor.call("session/new", { cwd: room.cwd, mcpServers }))).toMatchObject({
        code: -32602,
      });
  });
});

describe("a picture in the result of an MCP tool", () => {
  it("is in the card, live and after a load, and in the session", async () => {
    const room = editorRoom({ agent: using("test__show") });
    const editor = await room.editor();
    const { sessionId } = await editor.agent.request("session/new", {
      cwd: room.cwd,
      mcpServers: [server("test")],
    });
    await editor.agent.request("session/set_mode", { sessionId, modeId: "allow" });
    await editor.prompt(sessionId, "show");
    const content = [
      { type: "content", content: { type: "image", mimeType: "image/png", data: "AQID" } },
      {
        type: "content",
        content: {
          type: "resource",
          resource: { uri: "file:///a.txt", mimeType: "text/plain", text: "in it" },
        },
      },
      { type: "content", content: { type: "resource_link", uri: "file:///b.txt", name: "b.txt" } },
    ];
    expect(editor.shown(sessionId, "tool_call_update").at(-1)).toMatchObject({ content });
    const other = await room.editor();
    await other.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    expect(other.shown(sessionId, "tool_call")).toMatchObject([{ status: "completed", content }]);
  });
});

describe("an MCP server whose tools change", () => {
  it("offers the new tools in the same turn, from the next model request on", async () => {
    const agent = heldAgent();
    const room = editorRoom({ agent });
    const editor = await room.editor();
    const { sessionId } = await editor.agent.request("session/new", {
      cwd: room.cwd,
      mcpServers: [server("test", "--growing")],
    });
    const prompted = editor.prompt(sessionId, "grow");
    const answer = await agent.asked();
    const names = ({ tools = [] }: AgentTurn): string[] => tools.map(({ name }) => name);
    expect(names(answer.turn)).toContain("test__grow");
    expect(names(answer.turn)).not.toContain("test__grown_1");
    const grow = answer.turn.tools?.find(({ name }) => name === "test__grow");
    await grow?.run({}, { id: "1", signal: answer.signal });
    await expect.poll(() => names(answer.turn)).toContain("test__grown_1");
    answer.end();
    await prompted;
    const next = editor.prompt(sessionId, "again");
    const second = await agent.asked();
    expect(names(second.turn)).toContain("test__grown_1");
    second.end();
    await next;
  });
});
