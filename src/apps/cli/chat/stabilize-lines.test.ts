import { visibleWidth } from "@earendil-works/pi-tui";
import headless from "@xterm/headless";
import { describe, expect, it } from "vitest";
import { stabilizeLine } from "./stabilize-lines.ts";

const COLUMNS = 20;

/** The column and the row of the bar after a terminal has drawn the line. */
async function barIn(line: string): Promise<{ readonly column: number; readonly row: number }> {
  const terminal = new headless.Terminal({ cols: COLUMNS, rows: 4, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(`${line}`, resolve));
  for (let row = 0; row < 4; row += 1) {
    for (let column = 0; column < COLUMNS; column += 1) {
      if (terminal.buffer.active.getLine(row)?.getCell(column)?.getChars() === "|") return { column, row };
    }
  }
  throw new Error("there is no bar");
}

describe("a line with emoji of different widths in terminals", () => {
  it.each(["👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "❤️", "1️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏳️‍🌈", "👩🏽‍🚀"])(
    "goes on after %s where it should",
    async (emoji) => {
      const line = `a \x1b[1m${emoji}\x1b[22m|`;
      const column = 2 + visibleWidth(emoji);
      expect(await barIn(stabilizeLine(line))).toEqual({ column, row: 0 });
      expect(visibleWidth(stabilizeLine(line))).toBe(visibleWidth(line));
    },
  );

  it("does not wrap at the edge", async () => {
    const line = `${"x".repeat(COLUMNS - 3)}👨‍👩‍👧‍👦|`;
    expect(visibleWidth(line)).toBe(COLUMNS);
    expect(await barIn(stabilizeLine(line))).toEqual({ column: COLUMNS - 1, row: 0 });
  });

  it("is unchanged without such emoji", () => {
    expect(stabilizeLine("\x1b[1mé 中 😀\x1b[22m")).toBe("\x1b[1mé 中 😀\x1b[22m");
  });
});
