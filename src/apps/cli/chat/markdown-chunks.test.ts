import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { markdownChunks } from "./markdown-chunks.ts";

describe("Markdown in chunks", () => {
  it("stays whole while it is short", () => {
    expect(markdownChunks().add("one\n\ntwo")).toEqual({ whole: [], growing: "one\n\ntwo" });
  });

  it("ends a chunk at an empty line, and never inside a code block that fits", () => {
    const code = `\`\`\`ts\n${"const x = 1;\n\n".repeat(400)}\`\`\`\n`;
    const { whole, growing } = markdownChunks().add(`${"word ".repeat(300)}\n\n${code}after`);
    expect([...whole, growing]).toEqual([`${"word ".repeat(300)}\n\n`, code, "after"]);
  });

  it("closes and reopens a code block that is too long", () => {
    const { whole, growing } = markdownChunks().add(`\`\`\`ts\n${"const x = 1;\n".repeat(3000)}`);
    for (const piece of whole) expect(piece.startsWith("```ts\n") && piece.endsWith("\n```")).toBe(true);
    expect(growing.startsWith("```ts\n")).toBe(true);
  });

  it("shows at most six quote levels", () => {
    expect(
      markdownChunks()
        .add(`${">".repeat(5000)} deep`)
        .whole.join(""),
    ).toMatch(/^>{6}/);
    expect(markdownChunks().add("> > > > > > > > deep").growing).toBe("> > > > > > deep");
  });

  it("loses nothing, limits the chunk length, and does not depend on how the text arrives", () => {
    const part = fc.oneof(
      fc.constantFrom("\n", "\n\n", " ", "- a\n", "word ".repeat(200), "x".repeat(3000), "👩‍🚀".repeat(900)),
      fc.string({ maxLength: 50 }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const text = parts.join("").toWellFormed().replaceAll(/[`~>]/g, "");
        const atOnce = markdownChunks().add(text);
        const pieces = [...atOnce.whole, atOnce.growing];
        expect(pieces.join("")).toBe(text);
        for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(4001);
        const growing = markdownChunks();
        const whole: string[] = [];
        let last = "";
        for (let at = 0; at < text.length; at += 777) {
          const more = growing.add(text.slice(at, at + 777));
          whole.push(...more.whole);
          last = more.growing;
        }
        expect([...whole, last]).toEqual(pieces);
      }),
    );
  });
});
