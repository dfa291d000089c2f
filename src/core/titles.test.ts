import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildNextTitle,
  buildPreview,
  cleanProposedTitle,
  cleanTitle,
  findTitleMatch,
  parseLineage,
} from "./titles.ts";

const buildTitled = (...titles: readonly string[]) => titles.map((title) => ({ title }));

describe("a title", () => {
  it.each([
    ["  spaces around  ", "spaces around"],
    ["many   spaces\tand\r\nlines\u2028too\u0085here", "many spaces and lines too here"],
    ["\0bell\u0007 esc\u001b[31m del\u007f c1\u0090", "bell esc[31m del c1"],
    ["zero\u200bwidth\u200djoined\u2060up", "zerowidthjoinedup"],
    ["\u202eevil\u202c \u2066isolated\u2069\u200f\u061c", "evil isolated"],
    ["\ufeffbom object\ufffc", "bom object"],
    ["half \ud83d a character", "half a character"],
    ["🚀 héllo 日本語 100% done_", "🚀 héllo 日本語 100% done_"],
  ])("is cleaned of invisible characters: %j", (raw, title) => {
    expect(cleanTitle(raw)).toBe(title);
  });

  it.each(["", "   ", "\n\t", "\u200b\u202e\0", " \ufeff "])(
    "is absent without visible characters: %j",
    (raw) => {
      expect(cleanTitle(raw)).toBeUndefined();
    },
  );

  it("has at most 100 characters, of any number of units", () => {
    expect(cleanTitle("a".repeat(100))).toBe("a".repeat(100));
    expect(cleanTitle("🚀".repeat(100))).toBe("🚀".repeat(100));
    expect(cleanTitle(` ${"a".repeat(100)}\u200b `)).toBe("a".repeat(100));
  });

  it("is refused above the limit, with both lengths", () => {
    for (const raw of ["a".repeat(101), "🚀".repeat(101)]) {
      expect(() => cleanTitle(raw)).toThrow(
        expect.objectContaining({ code: "invalid_input", message: expect.stringMatching(/101.*100/) }),
      );
    }
  });

  it("is stable when it is cleaned again, on one line, without invisible ends", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 100 }), (raw) => {
        const title = cleanTitle(raw);
        if (title === undefined) return;
        expect(cleanTitle(title)).toBe(title);
        expect(title).toBe(title.trim());
        expect(title.isWellFormed()).toBe(true);
        expect(title).not.toMatch(/[\r\n\t]| {2}|\p{Cc}/u);
      }),
    );
  });
});

describe("a title's lineage", () => {
  it.each([
    ["notes", "notes", 1],
    ["notes #2", "notes", 2],
    ["notes #1", "notes", 1],
    ["notes #999999999", "notes", 999_999_999],
    ["notes #2 #3", "notes #2", 3],
    ["PR #438 fix auth", "PR #438 fix auth", 1],
    ["#2", "#2", 1],
    ["notes#2", "notes#2", 1],
    ["notes # 2", "notes # 2", 1],
    ["notes #0", "notes #0", 1],
    ["notes #007", "notes #007", 1],
    ["order #20260315092437", "order #20260315092437", 1],
    ["notes #２", "notes #２", 1],
  ])("of %j is %j, number %i", (title, base, number) => {
    expect(parseLineage(title)).toEqual({ base, number });
  });
});

describe("the next title of a lineage", () => {
  it.each<[title: string, existing: readonly string[], next: string]>([
    ["my project", [], "my project"],
    ["my project #7", [], "my project"],
    ["my project", ["my project"], "my project #2"],
    ["my project", ["my project", "my project #2", "my project #3"], "my project #4"],
    ["my project #2", ["my project", "my project #2", "my project #3"], "my project #4"],
    ["my project", ["my project #9"], "my project #10"],
    ["PR", ["PR #438 fix auth"], "PR"],
    ["test_project", ["testXproject", "testXproject #5"], "test_project"],
    ["notes", ["Notes", "NOTES #4"], "notes"],
    ["100% done", ["100% done"], "100% done #2"],
    ["a.*", ["abc #8"], "a.*"],
  ])("after %j, with %j existing, is %j", (title, existing, next) => {
    expect(buildNextTitle(title, existing)).toBe(next);
  });

  it("is absent if the number does not fit", () => {
    const long = "x".repeat(97);
    expect(buildNextTitle(long, [long])).toBe(`${long} #2`);
    expect(buildNextTitle(`${long}x`, [`${long}x`])).toBeUndefined();
    expect(buildNextTitle(long, [`${long} #9`])).toBeUndefined();
    expect(buildNextTitle("notes", ["notes #999999999"])).toBeUndefined();
  });

  it("is always free, and is found by the title without a number", () => {
    fc.assert(
      fc.property(fc.array(someTitle, { maxLength: 20 }), someTitle, (existing, title) => {
        const next = buildNextTitle(title, existing);
        if (next === undefined) return;
        expect(existing).not.toContain(next);
        const { base } = parseLineage(title);
        expect(parseLineage(next).base === base || next === base).toBe(true);
        // Bases that end in a number are found only by their exact title.
        if (parseLineage(base).base === base) {
          expect(findTitleMatch(base, buildTitled(...existing, next))?.title).toBe(next);
        }
      }),
    );
  });
});

describe("finding a session by its title", () => {
  it("prefers the highest number, not the newest", () => {
    const found = findTitleMatch("notes", buildTitled("notes #10", "notes", "notes #9", "other #99"));
    expect(found?.title).toBe("notes #10");
  });

  it("finds a single title without a number, as number 1", () => {
    expect(findTitleMatch("notes", buildTitled("other", "notes"))?.title).toBe("notes");
    expect(findTitleMatch("notes", buildTitled("notes #1", "notes"))?.title).toBe("notes");
    expect(findTitleMatch("notes", buildTitled("notes", "notes #1"))?.title).toBe("notes");
  });

  it("finds exactly the given number, or none", () => {
    const candidates = buildTitled("notes", "notes #2", "notes #3", "notes #2 #5");
    expect(findTitleMatch("notes #2", candidates)?.title).toBe("notes #2");
    expect(findTitleMatch("notes #4", candidates)).toBeUndefined();
  });

  it("never finds a longer title with the same start", () => {
    expect(findTitleMatch("PR", buildTitled("PR #438 fix auth", "PR review", "PR#2"))).toBeUndefined();
    expect(findTitleMatch("PR #438", buildTitled("PR #438 fix auth"))).toBeUndefined();
  });

  it("has no wildcards and is case-sensitive", () => {
    expect(findTitleMatch("test_project", buildTitled("testXproject", "testXproject #2"))).toBeUndefined();
    expect(findTitleMatch("100% done", buildTitled("100% done", "100 percent done"))?.title).toBe(
      "100% done",
    );
    expect(findTitleMatch("notes", buildTitled("Notes #2"))).toBeUndefined();
  });

  it("returns the caller's candidate", () => {
    const candidate = { title: "notes", id: 7 };
    expect(findTitleMatch("notes", new Set([candidate]))).toBe(candidate);
    expect(findTitleMatch("notes", [])).toBeUndefined();
  });

  it("finds every title by its own exact name, or a higher one of its lineage", () => {
    fc.assert(
      fc.property(fc.uniqueArray(someTitle, { minLength: 1, maxLength: 20 }), fc.nat(), (titles, index) => {
        const wanted = titles[index % titles.length] ?? "";
        const found = findTitleMatch(wanted, buildTitled(...titles))?.title ?? "";
        const numbered = parseLineage(wanted).base !== wanted;
        const higher = parseLineage(found).base === wanted && parseLineage(found).number > 1;
        expect(found === wanted || (!numbered && higher)).toBe(true);
      }),
    );
  });
});

describe("a title proposed by a model", () => {
  it.each([
    ["Fix login bug", "Fix login bug"],
    ['"Fix login bug"', "Fix login bug"],
    ["'Don't panic'", "Don't panic"],
    ["“Fix login bug”", "Fix login bug"],
    ["`Fix login bug`", "Fix login bug"],
    ["Title: Fix login bug", "Fix login bug"],
    ['title : "Fix login bug"', "Fix login bug"],
    ['"Title: Fix login bug"\n', "Fix login bug"],
    ['"Foo" and "Bar"', '"Foo" and "Bar"'],
    ['Fix the "foo"', 'Fix the "foo"'],
    ["Titles: how to", "Titles: how to"],
    ["Fix\nlogin\u200b bug", "Fix login bug"],
  ])("loses quotes and labels: %j", (raw, title) => {
    expect(cleanProposedTitle(raw)).toBe(title);
  });

  it.each(["", '""', '"', "Title:", '"Title:"', "\u200b"])(
    "is absent if only quotes and labels are left: %j",
    (raw) => {
      expect(cleanProposedTitle(raw)).toBeUndefined();
    },
  );

  it("is cut to 80 characters", () => {
    expect(cleanProposedTitle("a".repeat(80))).toBe("a".repeat(80));
    expect(cleanProposedTitle("a".repeat(81))).toBe(`${"a".repeat(77)}...`);
    expect(cleanProposedTitle("🚀".repeat(500))).toBe(`${"🚀".repeat(77)}...`);
  });

  it("is always a valid title", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (raw) => {
        const title = cleanProposedTitle(raw);
        if (title !== undefined) expect(cleanTitle(title)).toBe(title);
      }),
    );
  });
});

describe("a preview", () => {
  it("is the first 60 characters on one line", () => {
    expect(buildPreview("hello")).toBe("hello");
    expect(buildPreview("A".repeat(60))).toBe("A".repeat(60));
    expect(buildPreview("A".repeat(100))).toBe(`${"A".repeat(60)}...`);
    expect(buildPreview("one\ntwo\r\nthree\rfour\n")).toBe("one two three four");
  });

  it("is empty when there is no text", () => {
    expect(buildPreview(undefined)).toBe("");
    expect(buildPreview("")).toBe("");
    expect(buildPreview(" \n ")).toBe("");
  });

  it("never splits a character", () => {
    expect(buildPreview(`a${"🚀".repeat(60)}`)).toBe(`a${"🚀".repeat(59)}...`);
    expect(buildPreview("🚀".repeat(60))).toBe("🚀".repeat(60));
  });

  it("is short and well formed for any text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "🚀", "\n", "\r", " "), maxLength: 300 }),
        (text) => {
          const shown = buildPreview(text);
          const whole = [...text.trim().replaceAll("\r\n", "\n")];
          expect(shown.endsWith("...")).toBe(whole.length > 60);
          expect([...shown].length).toBe(whole.length > 60 ? 63 : whole.length);
          expect(shown.isWellFormed()).toBe(true);
          expect(shown).not.toMatch(/[\r\n]/);
        },
      ),
    );
  });
});

const someTitle = fc
  .tuple(
    fc.constantFrom("a", "b", "a b", "PR", "#2", "x".repeat(95)),
    fc.array(fc.constantFrom(" #1", " #2", " #3", " #10", " fix"), { maxLength: 2 }),
  )
  .map(([base, tail]) => base + tail.join(""));

/** Includes lone surrogates, and many control characters. */
const anyCharacter = fc
  .oneof(fc.nat(0xff), fc.integer({ min: 0x2000, max: 0x2070 }), fc.nat(0x10ffff))
  .map((code) => String.fromCodePoint(code));
