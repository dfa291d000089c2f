import { chmodSync, existsSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { listRotatedFiles, openRotatingFile, type RotatingFile } from "./rotating-file.ts";

const KEPT = 3;

function place(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  return join(folder.path, "logs", "some.log");
}

function opened(file: string, maxBytes: number): RotatingFile {
  const failed = (error: Error): void => {
    throw error;
  };
  return openRotatingFile({ file, maxBytes, kept: KEPT, onFailure: failed });
}

function texts(file: string): readonly string[] {
  return listRotatedFiles(file, KEPT).map((name) => (existsSync(name) ? readFileSync(name, "utf8") : ""));
}

describe("a rotating file", () => {
  it("loses nothing at a rotation, keeps the newest files, and respects the size limit", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ text: fc.string({ maxLength: 40 }), reopen: fc.boolean() }), { maxLength: 60 }),
        fc.integer({ min: 50, max: 400 }),
        (writes, maxBytes) => {
          const folder = temporaryFolder();
          try {
            const file = join(folder.path, "a.log");
            let log = opened(file, maxBytes);
            const lines = writes.map(({ text }, index) => `${index} ${JSON.stringify(text)}\n`);
            for (const [index, { reopen }] of writes.entries()) {
              if (reopen) {
                log.close();
                log = opened(file, maxBytes);
              }
              log.write(lines[index] ?? "");
            }
            log.close();
            const files = texts(file);
            const all = lines.join("");
            // The files contain the end of the written text, from the start of a line.
            expect(all.endsWith(files.join(""))).toBe(true);
            const dropped = Buffer.byteLength(all) - Buffer.byteLength(files.join(""));
            if (dropped > 0) expect(files.every((text) => text !== "")).toBe(true);
            const longest = Math.max(0, ...lines.map((line) => Buffer.byteLength(line)));
            for (const text of files)
              expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Math.max(maxBytes, longest));
            if (dropped > 0) {
              // A file is rotated only when the next line does not fit.
              for (const text of files.slice(0, -1))
                expect(Buffer.byteLength(text) + longest).toBeGreaterThan(maxBytes);
            }
          } finally {
            folder.remove();
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("is private, even if others could read it before", () => {
    const file = place();
    opened(file, 100).close();
    const log = opened(file, 100);
    log.write("one\n");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, "..")).mode & 0o777).toBe(0o700);
    log.close();
    chmodSync(file, 0o644);
    const again = opened(file, 100);
    again.write("two\n");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toBe("one\ntwo\n");
  });

  it("continues in a new file when the old one was moved", () => {
    const file = place();
    const log = opened(file, 1000);
    log.write("one\n");
    renameSync(file, `${file}.mine`);
    log.write("two\n");
    log.close();
    expect([readFileSync(`${file}.mine`, "utf8"), readFileSync(file, "utf8")]).toEqual(["one\n", "two\n"]);
  });

  it("never throws when writing fails, and reports it once", () => {
    const told: string[] = [];
    const log = openRotatingFile({
      file: join("/dev/null", "no", "folder.log"),
      maxBytes: 100,
      kept: KEPT,
      onFailure: ({ message }) => told.push(message),
    });
    log.write("one\n");
    log.write("two\n");
    expect(told).toHaveLength(1);
  });
});
