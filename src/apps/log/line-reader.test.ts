import { appendFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { createLineReader } from "./line-reader.ts";
import { openRotatingFile } from "./rotating-file.ts";

const KEPT = 3;

describe("reading a rotating file", () => {
  it("returns every line once and in order, for any number of rotations between two reads", () => {
    fc.assert(
      fc.property(
        // The number of lines between two reads: never more than are kept.
        fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 12 }),
        (rounds) => {
          const folder = temporaryFolder();
          try {
            const file = join(folder.path, "a.log");
            const failed = (error: Error): void => {
              throw error;
            };
            const log = openRotatingFile({ file, maxBytes: 100, kept: KEPT, onFailure: failed });
            const reader = createLineReader(file, KEPT);
            let written = 0;
            const read: string[] = [];
            for (const count of rounds) {
              for (let at = 0; at < count; at += 1) {
                log.write(`line ${String(written).padStart(6, "0")}\n`);
                written += 1;
              }
              read.push(...reader.read());
            }
            log.close();
            expect(read).toEqual(
              Array.from({ length: written }, (_, at) => `line ${String(at).padStart(6, "0")}`),
            );
          } finally {
            folder.remove();
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it("waits for the end of a line that is being written", () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const file = join(folder.path, "a.log");
    const reader = createLineReader(file, KEPT);
    expect(reader.read()).toEqual([]);
    appendFileSync(file, "one\ntw");
    expect(reader.read()).toEqual(["one"]);
    appendFileSync(file, "o ü\nth");
    expect(reader.read()).toEqual(["two ü"]);
    expect(reader.read()).toEqual([]);
  });
});
