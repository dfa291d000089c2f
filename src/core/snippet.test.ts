import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { parseQuery } from "./search-query.ts";
import { extractTerms } from "./search-terms.ts";
import { buildSnippet, type SnippetOptions, shortenNeighbour } from "./snippet.ts";

function formatSnippet(text: string, query: string, options?: SnippetOptions): string {
  return buildSnippet(text, parseQuery(query), options);
}

const filler = Array.from({ length: 100 }, (_, i) => `w${i}`).join(" ");

describe("a snippet", () => {
  it("shows a short text completely, with its matches marked", () => {
    expect(formatSnippet("  Docker, then:\n\tDEPLOY the *docker* app!", "docker deploy")).toBe(
      "  >>>Docker<<<, then:\n\t>>>DEPLOY<<< the *>>>docker<<<* app!",
    );
  });

  it("shows about forty words around the match, and marks the cuts", () => {
    const result = formatSnippet(`${filler} needle ${filler}`, "needle");
    expect(result).toMatch(/^\.\.\.w8\d .* w99 >>>needle<<< w0 .* w\d+\.\.\.$/);
    expect(extractTerms(result)).toHaveLength(40);
  });

  it("shows more on the other side if the match is near an end", () => {
    expect(extractTerms(formatSnippet(`needle ${filler}`, "needle"))).toHaveLength(40);
    expect(formatSnippet(`needle ${filler}`, "needle")).toMatch(/^>>>needle<<< w0 /);
    expect(formatSnippet(`${filler} needle.`, "needle")).toMatch(/^\.\.\.w61 .*>>>needle<<<\.$/);
  });

  it("prefers the part with the most different terms", () => {
    const text = `alpha ${filler} ${filler} alpha beta ${filler}`;
    expect(formatSnippet(text, "alpha beta")).toContain(">>>alpha<<< >>>beta<<<");
    expect(formatSnippet(text, "alpha OR beta")).toContain(">>>alpha<<< >>>beta<<<");
  });

  it("marks a phrase as one match, a prefix with its whole word, and no excluded terms", () => {
    expect(formatSnippet("use chat-send now", '"chat send"')).toBe("use >>>chat-send<<< now");
    expect(formatSnippet("the deployment", "deploy*")).toBe("the >>>deployment<<<");
    expect(formatSnippet("cat and dog", "cat -dog")).toBe(">>>cat<<< and dog");
    expect(formatSnippet("send chat", '"chat send"')).toBe("send chat");
  });

  it("marks matches with other accents and width", () => {
    expect(formatSnippet("La cre\u0301me bru\u0302le\u0301e", "crème")).toBe(
      "La >>>cre\u0301me<<< bru\u0302le\u0301e",
    );
    expect(formatSnippet("ＡＢＣ ½", "abc 2")).toBe(">>>ＡＢＣ<<< >>>½<<<");
  });

  it("marks inside texts without spaces, and joins marks that overlap", () => {
    expect(formatSnippet("昨日東京タワーへ", "東京")).toBe("昨日>>>東京<<<タワーへ");
    expect(formatSnippet("中中中", "中中")).toBe(">>>中中中<<<");
    const long = formatSnippet(`${"あ".repeat(5_000)}東京${"い".repeat(5_000)}`, "東京");
    expect(long).toMatch(/^\.\.\.あ{19}>>>東京<<<い{19}\.\.\.$/);
  });

  it("stays short with very long words", () => {
    const text = `${"x".repeat(10_000)} needle ${"y".repeat(10_000)}`;
    expect(formatSnippet(text, "needle")).toContain(">>>needle<<<");
    expect(formatSnippet(text, "needle").length).toBeLessThan(500);
    expect(formatSnippet("-".repeat(10_000), "needle")).toBe(`${"-".repeat(400)}...`);
    expect(formatSnippet("x".repeat(200_000), "x".repeat(300)).length).toBeLessThan(500);
  });

  it("shows the start of the text without a match", () => {
    expect(formatSnippet(`${filler} end`, "absent")).toMatch(/^w0 w1 .* w39\.\.\.$/);
    expect(formatSnippet("", "x")).toBe("");
    expect(formatSnippet("short", "")).toBe("short");
  });

  it("respects the caller's limits", () => {
    expect(formatSnippet(`${filler} needle ${filler}`, "needle", { words: 3 })).toBe(
      "...w99 >>>needle<<< w0...",
    );
    expect(formatSnippet(`${filler} needle ${filler}`, "needle", { chars: 14 })).toBe(
      "...w99 >>>needle<<< w0...",
    );
  });

  it("is fast for a text that consists of matches", () => {
    const took = cpuMsOf(
      () => void formatSnippet("a b c d ".repeat(40_000), "a b c d a b c d a* b* c* d* OR a b c d"),
    );
    expect(took).toBeLessThan(3_000);
  });

  it("is always a part of the text, within the limit, without a broken character", () => {
    const unit = fc.constantFrom(
      "a",
      "b",
      "é",
      "e\u0301",
      "中",
      "ก",
      "😀",
      "½",
      " ",
      " ",
      "-",
      "\n",
      "𝐀",
      "한",
    );
    const texts = fc.string({ unit, maxLength: 300, size: "max" });
    const limits = fc.record({
      words: fc.integer({ min: 1, max: 50 }),
      chars: fc.integer({ min: 4, max: 60 }),
    });
    fc.assert(
      fc.property(
        texts,
        fc.constantFrom("a", "b e", "中", '"a b"', "a*", "zzz", "中a OR é"),
        limits,
        (text, query, limit) => {
          const result = formatSnippet(text, query, limit);
          const bare = result
            .replaceAll(/>>>|<<</g, "")
            .replace(/^\.\.\./, "")
            .replace(/\.\.\.$/, "");
          expect(text).toContain(bare);
          expect(bare.length).toBeLessThanOrEqual(limit.chars);
          expect(result.isWellFormed()).toBe(true);
          expect(result.split(">>>").length).toBe(result.split("<<<").length);
          expect(result.includes(">>>")).toBe(
            formatSnippet(text, query, { words: 1e6, chars: 1e6 }).includes(">>>"),
          );
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe("the text of a neighbour", () => {
  it("is cut at 200 characters and never inside one", () => {
    expect(shortenNeighbour("short")).toBe("short");
    expect(shortenNeighbour("x".repeat(300))).toBe("x".repeat(200));
    expect(shortenNeighbour(`${"x".repeat(199)}😀`)).toBe("x".repeat(199));
    expect(shortenNeighbour(`${"x".repeat(198)}😀😀`)).toBe(`${"x".repeat(198)}😀`);
  });
});
