import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../../test/support/folder.ts";
import { readTranscript } from "./transcript.ts";

function reading(bytes: string | Uint8Array, maxLine?: number) {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const file = join(folder.path, "s.jsonl");
  writeFileSync(file, bytes);
  return [...readTranscript(file, maxLine)];
}

describe("a transcript", () => {
  it("returns its lines with numbers, skips blank lines, and includes a last line without a line break", () => {
    expect(reading('\uFEFF{"n":1}\r\n\n  \n{"n":2}\n{"n":"ä\u2028"}')).toEqual([
      { line: 1, record: { n: 1 } },
      { line: 4, record: { n: 2 } },
      { line: 5, record: { n: "ä\u2028" } },
    ]);
    expect(reading("")).toEqual([]);
  });

  it("keeps a line with NaN or Infinity, which Python writes, and texts that look like them", () => {
    const line =
      '{"cost":NaN,"up":Infinity,"down":[-Infinity,1],"text":"NaN, \\"Infinity\\" and -Infinity","id":123456789012345678}';
    expect(reading(`${line}\n{"a":NaN`)).toEqual([
      {
        line: 1,
        record: {
          cost: "NaN",
          up: "Infinity",
          down: ["-Infinity", 1],
          text: 'NaN, "Infinity" and -Infinity',
          id: "123456789012345678",
        },
      },
      { line: 2, why: "not JSON" },
    ]);
  });

  it("reports the problem of each invalid line, and continues with the next", () => {
    const bad = Buffer.concat([
      Buffer.from('{"a":1\n[1]\n"x"\nnull\n{"b":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n{}'),
    ]);
    expect(reading(bad)).toEqual([
      { line: 1, why: "not JSON" },
      { line: 2, why: "not an object" },
      { line: 3, why: "not an object" },
      { line: 4, why: "not an object" },
      { line: 5, why: "not valid UTF-8" },
      { line: 6, record: {} },
    ]);
  });

  it("skips a line that is too long, at any position in a chunk", () => {
    const long = `{"text":"${"x".repeat(600_000)}"}`;
    expect(reading(`{"n":1}\n${long}\n{"n":2}\n${long}`, 500_000)).toEqual([
      { line: 1, record: { n: 1 } },
      { line: 2, why: "longer than 500000 bytes", tooLarge: true },
      { line: 3, record: { n: 2 } },
      { line: 4, why: "longer than 500000 bytes", tooLarge: true },
    ]);
    expect(reading(`${long}\n{"n":2}`)).toMatchObject([
      { record: { text: expect.any(String) } },
      { line: 2 },
    ]);
  });

  it("keeps the digits of numbers that are too large", () => {
    expect(reading('{"id":1234567890123456789,"n":-5,"x":[98765432109876543210],"f":1.25e300}')).toEqual([
      { line: 1, record: { id: "1234567890123456789", n: -5, x: ["98765432109876543210"], f: 1.25e300 } },
    ]);
  });
});
