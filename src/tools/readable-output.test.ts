import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitOutputLines, takeLastCharacters, toReadableOutput } from "./readable-output.ts";

describe("the plain text of terminal output", () => {
  it("has no colours, titles or other terminal codes", () => {
    expect(toReadableOutput("\u001b[1;31mred\u001b[0m \u001b]0;a title\u0007plain\u0007")).toBe("red plain");
  });

  it("has the last state of a progress bar and of deleted characters", () => {
    expect(toReadableOutput("start\n 1 %\r 50 %\r100 %\ndone\n")).toBe("start\n100 %\ndone\n");
    expect(toReadableOutput("loading 10 %\r")).toBe("loading 10 %");
    expect(toReadableOutput("|\b/\b-\bok\n")).toBe("ok\n");
  });

  it("keeps lines that a terminal ends with CRLF", () => {
    expect(toReadableOutput("one\r\ntwo\r\r\nthree\tx\r\n")).toBe("one\ntwo\nthree\tx\n");
  });

  it("has no control characters except tab and line break, and does not change when converted again", () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom("\r", "\n", "\r\n", "\b", "\u001b[2K", "\u001b[31m", "\u001b", "\u0000", "é", "𝒳"),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const once = toReadableOutput(pieces.join(""));
        expect(once).not.toMatch(/[^\P{Cc}\t\n]/u);
        expect(toReadableOutput(once)).toBe(once);
      }),
    );
  });

  it("is cut at whole characters, and counted in lines", () => {
    expect(takeLastCharacters("ab𝒳c", 2)).toBe("c");
    expect(takeLastCharacters("ab𝒳c", 3)).toBe("𝒳c");
    expect([
      splitOutputLines(""),
      splitOutputLines("a"),
      splitOutputLines("a\n"),
      splitOutputLines("\n\n"),
    ]).toEqual([[], ["a"], ["a"], ["", ""]]);
  });
});
