import { visibleWidth as reference } from "@earendil-works/pi-tui";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutToWidth, measureWidth, padToWidth } from "./width.ts";

const CHARACTERS = [
  "a",
  "é",
  "e\u0301",
  "夜",
  "デ",
  "ﾀ",
  "한",
  "ส",
  "วั",
  "न",
  "👍",
  "👍🏽",
  "👨‍👩‍👧",
  "🇩🇪",
  "❤️",
  "1️⃣",
  "☎",
  "✅",
  " ",
  "─",
];
const texts = fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 30 }).map((parts) => parts.join(""));

describe("width", () => {
  it.each([
    ["夜景", 4],
    ["データベース設計", 16],
    ["한국어", 6],
    ["สวัสดี", 4],
    ["e\u0301", 1],
    ["👨‍👩‍👧", 2],
    ["🇩🇪🇫🇷", 4],
    ["1️⃣", 2],
    ["plain", 5],
    ["", 0],
  ])("of %j is %i columns", (text, width) => {
    expect(measureWidth(text)).toBe(width);
  });

  it("agrees with a terminal library", () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(measureWidth(text)).toBe(reference(text));
      }),
    );
  });

  it("of a cut text never exceeds the limit, and a text that fits is not cut", () => {
    fc.assert(
      fc.property(texts, fc.nat(40), (text, width) => {
        const cut = cutToWidth(text, width);
        expect(measureWidth(cut)).toBeLessThanOrEqual(width);
        if (measureWidth(text) <= width) expect(cut).toBe(text);
        else if (width > 0) expect(cut.endsWith("…")).toBe(true);
        // The rest consists of complete characters of the text.
        expect(text.startsWith(cut.replace(/…$/, ""))).toBe(true);
        expect(cut.isWellFormed()).toBe(true);
      }),
    );
  });

  it("is padded with spaces", () => {
    expect(padToWidth("夜景", 6)).toBe("夜景  ");
    expect(padToWidth("long", 2)).toBe("long");
  });
});
