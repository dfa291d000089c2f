import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Part } from "../../core/message.ts";
import { buildToolCard, buildToolOutcome } from "./tool-card.ts";

const cwd = "/project/project";
const card = (name: string, given: unknown) => buildToolCard({ id: "1", name, arguments: given }, cwd);
const text = (said: string): Part => ({ type: "text", text: said });
const outcome = (name: string, given: unknown, said: string, failed = false) =>
  buildToolOutcome({ id: "1", name, arguments: given }, [text(said)], failed, cwd);

describe("the card of a tool call", () => {
  it.each([
    ["terminal", { command: "npm test" }, "execute", "npm test"],
    ["Bash", { command: "ls -la" }, "execute", "ls -la"],
    ["shell", { command: ["git", "status"] }, "execute", "git status"],
    ["execute_code", { code: "print(1)" }, "execute", "print(1)"],
    ["process", { action: "poll" }, "execute", "process poll"],
    ["read_file", { path: "src/a.ts" }, "read", "Read src/a.ts"],
    ["Read", { file_path: "/etc/hosts" }, "read", "Read /etc/hosts"],
    ["ls", { path: "." }, "read", "List ."],
    ["write_file", { path: "a.ts", content: "" }, "edit", "Write a.ts"],
    ["create_file", { path: `${cwd}/b/c.ts` }, "edit", "Write b/c.ts"],
    ["patch", { path: "a.ts" }, "edit", "Edit a.ts"],
    ["MultiEdit", { file_path: "a.ts" }, "edit", "Edit a.ts"],
    ["str_replace_based_edit_tool", { command: "view", path: "a.ts" }, "read", "Read a.ts"],
    ["str_replace_based_edit_tool", { command: "create", path: "a.ts" }, "edit", "Write a.ts"],
    ["delete_file", { path: "a.ts" }, "delete", "Delete a.ts"],
    ["move_file", { source: "a.ts", destination: "b.ts" }, "move", "Move a.ts to b.ts"],
    ["search_files", { pattern: "TODO", path: "src" }, "search", "Search for TODO"],
    ["grep", { pattern: "x" }, "search", "Search for x"],
    ["glob", { pattern: "**/*.ts" }, "search", "Search for **/*.ts"],
    ["session_search", { query: "berlin" }, "search", "Search for berlin"],
    ["web_search", { query: "weather" }, "fetch", "Search the web for weather"],
    ["WebFetch", { url: "https://example.com" }, "fetch", "Fetch https://example.com"],
    ["delegate_task", { goal: "find out" }, "think", "Delegate: find out"],
    ["think", { thought: "hm" }, "think", "think"],
    ["memory", { action: "add" }, "other", "memory: add"],
    ["get_weather", {}, "other", "get_weather"],
    ["files__read_file", { path: "/a/b.md" }, "read", "files: Read /a/b.md"],
    ["mcp__git_hub__list_issues", {}, "other", "git_hub: list_issues"],
    ["terminal", {}, "execute", "terminal"],
    ["", null, "other", "Tool"],
  ])("%s %j has the kind %s: %s", (name, given, kind, title) => {
    expect(card(name, given)).toMatchObject({ name, kind, title });
  });

  it("shows a command up to 80 characters, a goal up to 60, and the whole of a long command below", () => {
    const command = `echo ${"a".repeat(200)}`;
    const { title, content } = card("terminal", { command });
    expect(title).toHaveLength(80);
    expect(title.endsWith("…")).toBe(true);
    expect(JSON.stringify(content)).toContain(command);
    expect(card("terminal", { command: "a\nb" })).toMatchObject({
      title: "a b",
      content: [{ type: "content" }],
    });
    expect(card("delegate", { goal: "b".repeat(200) }).title).toBe(`Delegate: ${"b".repeat(59)}…`);
  });

  it("has a title of one short line for any arguments", () => {
    const names = fc.constantFrom(
      "terminal",
      "read_file",
      "patch",
      "grep",
      "move_file",
      "a__b",
      "x",
      "delegate",
    );
    const values = fc.oneof(fc.string({ unit: "binary" }), fc.jsonValue());
    const keys = fc.constantFrom(
      "command",
      "path",
      "pattern",
      "goal",
      "query",
      "edits",
      "old",
      "new",
      "paths",
    );
    fc.assert(
      fc.property(names, fc.oneof(fc.dictionary(keys, values), values), (name, given) => {
        const { title, locations, rawInput } = card(name, given);
        expect(title).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u);
        expect(title.length).toBeGreaterThan(0);
        expect(title.length).toBeLessThan(120);
        for (const { path } of locations) expect(path.startsWith("/")).toBe(true);
        expect(() => JSON.stringify(rawInput)).not.toThrow();
      }),
    );
    const hostile = card("terminal", { command: "rm\u001b[31m \u202etxt\u0007" });
    expect(hostile.title).toBe("rm[31m txt");
  });

  it("never splits a surrogate pair", () => {
    for (const before of ["", "a"]) {
      const long = before + "👍".repeat(50_000);
      const { title, content } = card("terminal", { command: long });
      expect([title, JSON.stringify(content)].map((written) => written.isWellFormed())).toEqual([true, true]);
      expect(JSON.stringify([outcome("x", {}, long), card("x", { long })])).not.toMatch(/\\ud83d/i);
    }
  });

  it("parses arguments in a JSON text, and keeps other text", () => {
    expect(card("read_file", '{"path":"a.ts"}')).toMatchObject({
      title: "Read a.ts",
      rawInput: { path: "a.ts" },
    });
    expect(card("read_file", "{oops")).toMatchObject({ title: "read_file", rawInput: { raw: "{oops" } });
    expect(card("x", undefined)).not.toHaveProperty("rawInput");
  });

  it("has locations with absolute path and line", () => {
    expect(card("read_file", { path: "src/../a.ts", offset: 42 }).locations).toEqual([
      { path: `${cwd}/a.ts`, line: 42 },
    ]);
    expect(card("read_file", { path: "/x", line: 0 }).locations).toEqual([{ path: "/x" }]);
    expect(card("view", { path: "/x", view_range: [7, 9] }).locations).toEqual([{ path: "/x", line: 7 }]);
    expect(card("move_file", { source: "a", destination: "/b" }).locations).toEqual([
      { path: `${cwd}/a` },
      { path: "/b" },
    ]);
    expect(card("apply_patch", { input: "*** Begin Patch\n*** Update File: a.ts\n@@\n" }).locations).toEqual([
      { path: `${cwd}/a.ts` },
    ]);
  });

  it("has no location for an unknown path", () => {
    for (const path of ["~/x", "https://example.com/a", "a\0b"]) {
      expect(card("read_file", { path }).locations).toEqual([]);
    }
    expect(card("github__read_file", { path: "src/a.ts" }).locations).toEqual([]);
    expect(card("send_mail", { to: "a@example.com", from: "b" }).locations).toEqual([]);
    expect(buildToolCard({ id: "1", name: "read", arguments: { path: "a" } }, undefined).locations).toEqual(
      [],
    );
  });

  it("shows a change as a diff", () => {
    const path = `${cwd}/a.ts`;
    expect(card("write_file", { path: "a.ts", content: "new" }).content).toEqual([
      { type: "diff", path, oldText: null, newText: "new" },
    ]);
    expect(card("patch", { mode: "replace", path: "a.ts", old_string: "a", new_string: "" }).content).toEqual(
      [{ type: "diff", path, oldText: "a", newText: "" }],
    );
    const edits = [
      { oldText: "a", newText: "b" },
      { oldText: "c", newText: "d" },
    ];
    expect(card("edit_file", { path, edits }).content).toEqual(
      edits.map((edit) => ({ type: "diff", path, ...edit })),
    );
    expect(JSON.stringify(card("patch", { patch: "--- a\n+++ b/a.ts\n@@ -1 +1 @@\n" }).content)).toContain(
      "@@ -1 +1 @@",
    );
  });

  it("limits its size", () => {
    const long = "é\u0001".repeat(500_000);
    for (const given of [
      { path: "a", content: long },
      { command: long },
      { path: "a", old: long, new: long },
      long,
    ]) {
      for (const name of ["write_file", "terminal", "edit", "x"]) {
        expect(JSON.stringify(card(name, given)).length).toBeLessThan(150_000);
        expect(JSON.stringify(outcome(name, given, long)).length).toBeLessThan(150_000);
      }
    }
  });
});

describe("the outcome of a tool call", () => {
  it("has the output of the tool and its status", () => {
    expect(outcome("get_weather", {}, "sunny")).toEqual({
      status: "completed",
      content: [{ type: "content", content: { type: "text", text: "sunny" } }],
      rawOutput: "sunny",
    });
    expect(outcome("get_weather", {}, "no network", true)).toMatchObject({ status: "failed" });
    expect(buildToolOutcome(undefined, [], false, undefined)).toEqual({ status: "completed", content: [] });
  });

  it("keeps the diff of a change that succeeded, and drops one that failed", () => {
    const edit = { path: "a.ts", old: "a", new: "b" };
    expect(outcome("edit", edit, "done").content).toMatchObject([{ type: "diff" }, { type: "content" }]);
    expect(outcome("edit", edit, "not found", true).content).toMatchObject([{ type: "content" }]);
  });

  it("is truncated if it is long, with its full length", () => {
    const [only] = outcome("terminal", { command: "x" }, "y".repeat(12_345)).content;
    const shown = only?.type === "content" && only.content.type === "text" ? only.content.text : "";
    expect(shown).toContain("y".repeat(4_900));
    expect(shown).not.toContain("y".repeat(4_901));
    expect(shown).toContain("truncated, 12345 characters");
    expect(JSON.stringify(outcome("x", {}, "y".repeat(5_000)))).toContain("y".repeat(5_000));
  });

  it("shows output verbatim, also with Markdown characters", () => {
    const [only] = outcome("terminal", { command: "x" }, "*a*\n```\nb").content;
    expect(only).toEqual({ type: "content", content: { type: "text", text: "````\n*a*\n```\nb\n````" } });
  });

  it("names attachments, or shows them if their bytes were loaded", () => {
    const image: Part = {
      type: "image",
      blob: "0".repeat(64),
      mimeType: "image/png",
      size: 1,
      name: "a.png",
    };
    expect(JSON.stringify(buildToolOutcome(undefined, [image], false, cwd))).toContain("[image a.png]");
    const block = { type: "image", data: "AQ==", mimeType: "image/png" } as const;
    expect(buildToolOutcome(undefined, [image], false, cwd, [block]).content).toEqual([
      { type: "content", content: block },
    ]);
  });
});
