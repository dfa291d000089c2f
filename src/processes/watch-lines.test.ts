import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLineWatch } from "./watch-lines.ts";

describe("lines that contain a pattern", () => {
  it("are found once each, however the output is cut", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60), { maxLength: 12 }), (cuts) => {
        const text = "a ERROR b ERROR\nnothing\n\x1b[31mER\x1b[0mROR in colour\r\nready\nrea dy\n";
        const at = [...new Set(cuts.filter((cut) => cut < text.length))].toSorted((a, b) => a - b);
        const watch = createLineWatch(["ERROR", "ready"]);
        const found = [0, ...at].flatMap((from, index) => watch.take(text.slice(from, at[index]), 0));
        expect(found).toEqual(["a ERROR b ERROR", "ERROR in colour", "ready"]);
      }),
    );
  });

  it("are found in an incomplete line when no more output comes, and in a very long line", () => {
    const watch = createLineWatch(["Password:"]);
    expect(watch.take("Pass", 0)).toEqual([]);
    expect(watch.take("word: ", 0)).toEqual([]);
    expect(watch.idle(0)).toEqual(["Password:"]);
    expect(watch.idle(0)).toEqual([]);
    expect(watch.take("\n", 0)).toEqual([]);
    expect(watch.take("x".repeat(10_000_000), 0)).toEqual([]);
    expect(watch.take("Passw", 0)).toEqual([]);
    const [line = ""] = watch.take(`ord:${"y".repeat(10_000)}\n`, 0);
    expect(line).toContain("Password:");
    expect(line.length).toBe(500);
  });

  it("are reported eight times in ten seconds; the rest is counted", () => {
    const watch = createLineWatch(["E"]);
    const first = watch.take("E\n".repeat(20), 1000);
    expect(first).toEqual(Array.from({ length: 8 }, () => "E"));
    expect(watch.take("E\n", 9000)).toEqual([]);
    expect(watch.take("fine\n", 11_000)).toEqual(["(and 13 more lines with one of the patterns)"]);
    expect(watch.take("E\n", 12_000)).toEqual(["E"]);
  });

  it("are no longer searched after 45 seconds of too many, and a line reports it", () => {
    const watch = createLineWatch(["E"]);
    const reported: string[] = [];
    for (let now = 0; now <= 60_000; now += 500) reported.push(...watch.take("E\n".repeat(10), now));
    expect(reported.at(-1)).toMatch(/no longer searched/);
    expect(reported.filter((line) => line.includes("no longer searched")).length).toBe(1);
    expect(watch.take("E\n", 999_000)).toEqual([]);
  });

  it("are still searched if there were quiet times between", () => {
    const watch = createLineWatch(["E"]);
    for (let now = 0; now <= 300_000; now += 30_000) {
      expect(watch.take("E\n".repeat(100), now)).toContain("E");
      watch.take("fine\n", now + 11_000);
      watch.take("fine\n", now + 22_000);
    }
  });
});
