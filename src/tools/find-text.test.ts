import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findText, hasText } from "./find-text.ts";

describe("finding a text in another", () => {
  it("finds the same positions as a naive search", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 40 });
    const word = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(letters, word, fc.boolean(), (text, wanted, overlapping) => {
        const expected: number[] = [];
        const step = overlapping ? 1 : wanted.length;
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + step)) expected.push(at);
        expect(findText(text, wanted, { limit: 100, overlapping })).toEqual(expected);
        expect(hasText(text, wanted)).toBe(expected.length > 0);
      }),
    );
  });

  it("stops at the limit", () => {
    expect(findText("aaaa", "a", { limit: 2, overlapping: true })).toEqual([0, 1]);
    expect(findText("aaaa", "", { limit: 2, overlapping: true })).toEqual([]);
  });
});
