import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ToolRoom, toolRoom } from "../../test/support/tool-room.ts";
import { checkToolArguments } from "../agents/check-tool-arguments.ts";
import { getText } from "../core/message.ts";
import { TOOL_NAMES } from "../core/tool-settings.ts";
import { createTools } from "./create-tools.ts";

let room: ToolRoom;
beforeAll(async () => {
  room = await toolRoom();
});
afterAll(() => room.close());

describe("the tools of a turn", () => {
  it("are the requested ones, once each", async () => {
    const context = await room.context();
    expect(createTools(TOOL_NAMES, context).map(({ name }) => name)).toEqual(TOOL_NAMES);
    expect(createTools(["process", "terminal", "process"], context).map(({ name }) => name)).toEqual([
      "process",
      "terminal",
    ]);
    expect(createTools([], context)).toEqual([]);
  });

  it("never return a secret", async () => {
    const [tool] = createTools(["memory"], { ...(await room.context()), secrets: ["tok-5e1f9c77"] });
    const given = { action: "add", text: "The token is tok-5e1f9c77." };
    const output = await tool?.run(given, { id: "1", signal: new AbortController().signal });
    const words = output === undefined ? "" : getText(output);
    expect(words).toContain("The token is");
    expect(words).not.toContain("tok-5e1f9c77");
  });

  it.each([
    ["terminal", { command: "ls" }, undefined],
    ["terminal", { command: "ls", background: true, watch_patterns: ["x"], notify: "off" }, undefined],
    ["terminal", {}, /command/],
    ["terminal", { command: "ls", timeout: 0 }, /timeout/],
    ["terminal", { command: "ls", notify: "often" }, /notify/],
    ["process", { action: "list" }, undefined],
    ["process", { action: "poll", session_id: 7 }, undefined],
    ["process", { action: "poll", session_id: {} }, /session_id/],
    ["process", {}, /action/],
  ] as const)("report invalid arguments: %s %j", async (name, given, words) => {
    const [tool] = createTools([name], await room.context());
    if (tool === undefined) throw new Error("there is no tool");
    const wrong = await checkToolArguments(tool, given);
    if (words === undefined) expect(wrong).toBeUndefined();
    else expect(wrong).toMatch(words);
  });
});
