import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findOpenFence, splitText } from "./split-text.ts";

describe("splitting a text", () => {
  it("does not change a text that fits", () => {
    expect(splitText("hello", 10)).toEqual(["hello"]);
    expect(splitText("", 10)).toEqual([]);
  });

  it("prefers the end of a paragraph, then of a line, then of a word", () => {
    expect(splitText("one two\n\nthree four five", 16)).toEqual(["one two", "three four five"]);
    expect(splitText("one two\nthree four", 14)).toEqual(["one two", "three four"]);
    expect(splitText("one two three", 9)).toEqual(["one two", "three"]);
  });

  it("closes a code block that is split, and opens it again with its language", () => {
    const code = `\`\`\`ts\n${"const x = 1;\n".repeat(10)}\`\`\``;
    const pieces = splitText(code, 60);
    expect(pieces.length).toBeGreaterThan(2);
    for (const piece of pieces) {
      expect(piece.startsWith("```ts\n")).toBe(true);
      expect(piece.endsWith("\n```")).toBe(true);
    }
  });

  it("never exceeds the limit, never splits a character, and leaves no block open", () => {
    const piece = fc.oneof(
      fc.constantFrom("```\n", "```js\n", "~~~\n", "\n", "\n\n", " ", "👩‍🚀", "—"),
      fc.string({ maxLength: 30 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 64, max: 200 }), (parts, limit) => {
        const text = parts.join("").toWellFormed();
        const pieces = splitText(text, limit);
        for (const made of pieces) {
          expect(made.length).toBeLessThanOrEqual(limit);
          expect(made.isWellFormed()).toBe(true);
        }
        for (const made of pieces.slice(0, -1)) expect(findOpenFence(made)).toBeUndefined();
      }),
    );
  });

  it("loses no word", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 80 }), (words) => {
        expect(splitText(words.join(" "), 64).join(" ").split(/\s+/).filter(Boolean)).toEqual(words);
      }),
    );
  });
});
