import { describe, expect, it } from "vitest";
import { stripTerminalCodes } from "./printable.ts";

describe("removing terminal codes", () => {
  it("removes colours, cursor movements, titles, links and character sets, and nothing else", () => {
    expect(stripTerminalCodes("\x1b[1;31mred\x1b[0m \x1b[?25l\x1b[2Kplain \x9b32mgreen")).toBe(
      "red plain green",
    );
    expect(stripTerminalCodes("\x1b]0;a title\x07a \x1b]8;;https://a.b/c d\x1b\\link\x1b]8;;\x1b\\")).toBe(
      "a link",
    );
    expect(stripTerminalCodes("\x1b(B\x1b7\x1b=text\x1bP1$r0m\x1b\\ more")).toBe("text more");
    expect(stripTerminalCodes("[31m and a \\ stay")).toBe("[31m and a \\ stay");
  });

  it("keeps the lines after an unterminated title", () => {
    expect(stripTerminalCodes("\x1b]0;title\nline\x07")).toBe("0;title\nline\x07");
  });

  it("removes a code that is cut off at the end", () => {
    expect(stripTerminalCodes("text\x1b[38;5")).toBe("text");
  });
});
