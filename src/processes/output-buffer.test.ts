import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { createOutputBuffer } from "./output-buffer.ts";

describe("the buffer of output that is not stored yet", () => {
  it("holds the last part of the output, with its position, at any time", () => {
    const step = fc.oneof(fc.string({ maxLength: 30 }), fc.constant("x".repeat(60)), fc.constant(null));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const kept = createOutputBuffer(50);
        let [all, dropped] = ["", 0];
        for (const one of steps) {
          if (one === null) {
            const { from, text } = kept.peek();
            expect(from).toBe(Math.max(dropped, all.length - 50));
            expect(text).toBe(all.slice(from));
            dropped = from + Math.floor(text.length / 2);
            kept.drop(dropped);
          } else {
            all += one;
            kept.add(one);
          }
        }
      }),
    );
  });

  it("never starts in the middle of a character", () => {
    const kept = createOutputBuffer(5);
    kept.add("🙂🙂🙂🙂");
    expect(kept.peek()).toEqual({ from: 4, text: "🙂🙂" });
  });

  it("costs the same for the thousandth piece as for the first", () => {
    const kept = createOutputBuffer(200_000);
    const piece = "y".repeat(65_536);
    const took = cpuMsOf(() => {
      for (let count = 0; count < 16_000; count += 1) kept.add(piece); // a gigabyte
      for (let count = 0; count < 1_000_000; count += 1) kept.add("z");
    });
    expect(took).toBeLessThan(5000);
    expect(kept.peek()).toEqual({ from: 16_000 * 65_536 + 800_000, text: "z".repeat(200_000) });
  });
});
