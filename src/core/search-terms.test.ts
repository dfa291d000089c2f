import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { buildIndexText, extractTermOffsets, extractTerms, MAX_INDEXED_CHARS } from "./search-terms.ts";

describe("words", () => {
  it.each([
    ["Deploy the API-server v2", ["deploy", "the", "api", "server", "v2"]],
    ["C++ don't foo_bar", ["c", "don", "t", "foo", "bar"]],
    ["", []],
    ["!?… – 🎉❤️", []],
    ["नमस्ते हिन्दी", ["नमस्ते", "हिन्दी"]],
    ["한국어 검색", ["한", "국", "어", "검", "색"]],
  ])("makes terms of %j", (text, terms) => {
    expect(extractTerms(text)).toEqual(terms);
  });

  it("finds a word in any case, with any accents and width", () => {
    expect(extractTerms("Crème BRÛLÉE")).toEqual(extractTerms("creme brulee"));
    expect(extractTerms("cafe\u0301")).toEqual(extractTerms("café"));
    expect(extractTerms("ΟΔΌΣ")).toEqual(extractTerms("οδος"));
    expect(extractTerms("Ёлка")).toEqual(extractTerms("елка"));
    expect(extractTerms("ＡＢＣ ﬁn ½ İstanbul")).toEqual(["abc", "fin", "1", "2", "istanbul"]);
    expect(extractTerms("Straße")).toEqual(["straße"]);
  });

  it("keeps marks that distinguish words in other scripts", () => {
    expect(extractTerms("がか")).toEqual(["が", "か"]);
    expect(extractTerms("か\u3099")).toEqual(["が"]);
    expect(extractTerms("ｶﾞ")).toEqual(["ガ"]);
    expect(extractTerms("한")).toEqual(extractTerms("\u1112\u1161\u11ab"));
  });

  it("are not split by invisible characters", () => {
    expect(extractTerms("Silben\u00adtrennung")).toEqual(["silbentrennung"]);
    expect(extractTerms("می\u200cخواهم")).toEqual(["میخواهم"]);
    expect(extractTerms("1\ufe0f\u20e3 葛\u{e0100}飾")).toEqual(["1", "葛", "飾"]);
    expect(extractTerms("a\u200bb")).toEqual(["a", "b"]);
  });
});

describe("scripts without spaces", () => {
  it.each([
    ["東京タワー", 5],
    ["我们讨论iPhone手机", 7],
    ["ภาษาไทยที่", 10],
    ["ភាសាខ្មែរ", 9],
    ["မြန်မာ", 6],
  ])("makes a term of each character of %s", (text, count) => {
    expect(extractTerms(text)).toHaveLength(count);
  });

  it("finds every substring, and nothing but substrings", () => {
    const written = fc.string({
      unit: fc.constantFrom(..."東京都日本語漢字ひらがなカタカナーภาษาไทยที่นี่ลาว々〇"),
      maxLength: 30,
    });
    fc.assert(
      fc.property(written, fc.nat(), fc.nat(4), written, (text, at, length, other) => {
        const chars = Array.from(text);
        const start = at % (chars.length + 1);
        const part = chars.slice(start, start + length).join("");
        expect(buildIndexText(text)).toContain(buildIndexText(part));
        expect(buildIndexText(text).includes(buildIndexText(other))).toBe(text.includes(other));
      }),
    );
  });
});

describe("any text", () => {
  const anyText = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: "grapheme" }),
    fc.string({
      unit: fc.constantFrom(
        ..."aZ9 -_éÅßΣςйЁ中語がｶﾞﾞกำ่한ㅋㅏᄒ\u1161\u11a8\u0301\u3099\u200b\u200d\u00ad\ufe0f\u20e3½ﷺ𝐀\ud83d\ude00\ud800\u0000",
      ),
    }),
  );

  it("gives terms of letters, digits and marks only, which are stable", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const terms = extractTerms(text);
        for (const term of terms) expect(term).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
        expect(extractTerms(terms.join(" "))).toEqual(terms);
      }),
      { numRuns: 1000 },
    );
  });

  it("gives the same terms with their offsets, in order and inside the text", () => {
    fc.assert(
      fc.property(anyText, fc.nat(80), anyText, (before, gap, after) => {
        const text = `${before}${"ascii words ".repeat(gap).slice(0, gap)}${after}`;
        const placed = extractTermOffsets(text);
        expect(placed.map(({ term }) => term)).toEqual(extractTerms(text));
        let last = 0;
        for (const { start, end } of placed) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          last = start;
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("gives an offset for every character of Unicode that folding changes, next to any other", () => {
    const chars: string[] = [];
    for (let code = 0; code <= 0x10ffff; code++) {
      const char = String.fromCodePoint(code);
      if (/[\p{M}\p{Cf}\p{Lu}]/u.test(char) || char.normalize("NFKD") !== char) chars.push(char);
    }
    expect(chars.length).toBeGreaterThan(15_000);
    for (const between of [" ", "a", "é ", "ก", "ㅏ"]) {
      const text = chars.join(between);
      const terms = extractTerms(text).join(" ");
      expect(
        extractTermOffsets(text)
          .map(({ term }) => term)
          .join(" ") === terms,
      ).toBe(true);
      expect(buildIndexText(terms) === terms).toBe(true);
    }
  });

  it("splits a long word in the same way in any context", () => {
    const word = `é${"a".repeat(50)}é`;
    expect(extractTerms(word)).toEqual([`e${"a".repeat(50)}e`]);
    expect(extractTerms(`x ${word} y`)).toEqual(["x", `e${"a".repeat(50)}e`, "y"]);
  });
});

describe("limits", () => {
  it("makes several terms of a word too long for an index", () => {
    const terms = extractTerms("ab".repeat(300));
    expect(terms.map((term) => term.length)).toEqual([256, 256, 88]);
    expect(extractTerms("äb".repeat(300)).join("")).toBe("ab".repeat(300));
    expect(extractTerms("äb".repeat(300))).toEqual(terms);
  });

  it("uses only the first 256 Ki characters of a text", () => {
    const text = `${"a ".repeat(MAX_INDEXED_CHARS / 2)}never`;
    expect(extractTerms(text)).toHaveLength(MAX_INDEXED_CHARS / 2);
    expect(extractTermOffsets(text)).toHaveLength(MAX_INDEXED_CHARS / 2);
    expect(extractTerms(`${"x".repeat(MAX_INDEXED_CHARS - 1)}😀`).join("")).toBe(
      "x".repeat(MAX_INDEXED_CHARS - 1),
    );
  });

  it("processes a hostile text quickly", () => {
    for (const unit of ["a", "é", "\u0301", "\u200d", "ﷺ", "中", "ㅏ", "-é-", "\ud800"]) {
      const text = unit.repeat(MAX_INDEXED_CHARS / unit.length);
      const took = cpuMsOf(() => {
        extractTerms(text);
        extractTermOffsets(text);
      });
      expect(took).toBeLessThan(5_000);
    }
  });
});
