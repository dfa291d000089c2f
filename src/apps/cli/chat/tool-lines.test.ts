import { describe, expect, it } from "vitest";
import { textPart } from "../../../core/message.ts";
import { formatToolCall, formatToolResult } from "./tool-lines.ts";

describe("a tool call in a terminal", () => {
  it.each([
    [{ command: "npm test", background: true }, "→ t  npm test"],
    [{ action: "submit", session_id: "proc_1", data: "yes" }, "→ t  submit proc_1 yes"],
    [{ path: "a.md", content: "long" }, "→ t  a.md"],
    [{ a: 1 }, '→ t  {"a":1}'],
    [{}, "→ t"],
    [undefined, "→ t"],
    ["raw\ntext", "→ t  raw text"],
    [{ command: `echo ${"x".repeat(500)}` }, `→ t  echo ${"x".repeat(154)}…`],
  ])("shows its main argument (%j)", (given, shown) => {
    expect(formatToolCall({ name: "t", arguments: given })).toBe(shown);
  });

  it("shows the first lines of its result and the number of further lines", () => {
    expect(formatToolResult([textPart("one\n")])).toBe("← one");
    expect(formatToolResult([textPart("1\n2\n3\n4\n5\n6")])).toBe("← 1\n  2\n  3\n  4\n  … 2 more lines");
    expect(formatToolResult([textPart("1\n2\n3\n4\n5")])).toBe("← 1\n  2\n  3\n  4\n  … 1 more line");
    expect(formatToolResult([textPart(" \n")])).toBe("← (no output)");
    expect(formatToolResult([textPart("\u001b[31mred")])).not.toContain("\u001b");
  });
});
