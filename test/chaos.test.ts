import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { again, HELP, optionsFrom } from "./chaos/options.ts";
import { PARTS } from "./chaos/parts.ts";
import { findingsOf, isGood, type Row, tableOf } from "./chaos/table.ts";

import { temporaryFolder } from "./support/folder.ts";

const NOW = 1_800_000_123_456;
const argsOf = (command: string): string[] => command.replace("npm run chaos -- ", "").split(" ");

it.each([
  [[]],
  [["--quick"]],
  [["--seed", "7", "--kills", "3"]],
  [["--only", "terminal", "--only", "backups", "--quick", "--backups", "2"]],
])("prints a command that repeats the run: %j", (args) => {
  const options = optionsFrom(args, NOW);
  expect(optionsFrom(argsOf(again(options)), NOW + 1)).toEqual(options);
});

it("runs every part by default, and explains each", () => {
  expect(optionsFrom([], NOW).parts.map(({ part }) => part)).toEqual(PARTS);
  expect(optionsFrom(["--only", "kills"], NOW).parts.map(({ part }) => part.name)).toEqual(["kills"]);
  for (const { name, option } of PARTS) {
    expect(HELP).toContain(name);
    expect(HELP).toContain(`--${option} N`);
  }
});

it.each([
  [["--only", "everything"], /no part "everything"/],
  [["--kills", "many"], /--kills must be a whole number, not "many"/],
  [["--colour"], /--colour/],
])("refuses %j with a message", (args, sentence) => {
  expect(() => optionsFrom(args, NOW)).toThrow(sentence);
});

it.each(["lost", "doubled", "errors"] as const)("does not call a row good that has %s", (column) => {
  const good: Row = {
    part: "kills",
    operations: 12_345,
    kills: 3,
    inFlight: 2,
    lost: [],
    doubled: [],
    errors: [],
    notes: [],
  };
  const bad = { ...good, [column]: Array.from({ length: 12 }, (_, n) => `finding ${n}`) };
  expect([isGood(good), isGood(bad)]).toEqual([true, false]);
  expect(findingsOf(good)).toEqual([]);
  expect(findingsOf(bad)).toHaveLength(11);
  expect(findingsOf(bad)[0]).toBe(`${column}: finding 0`);
  expect(findingsOf(bad)[10]).toBe(`${column}: and 2 more`);
  const counts = { lost: 0, doubled: 0, errors: 0, [column]: 12 };
  const lines = tableOf([good, bad]);
  expect(lines[1]).toMatch(/^kills +12345 +3 +2 +0 +0 +0$/);
  expect(lines[2]?.split(/ +/).slice(4)).toEqual(Object.values(counts).map(String));
});

// Without `prlimit`, which is found by PATH, this part fails.
it.skipIf(process.platform !== "linux")("exits with 1 and keeps the files when a part fails", () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const program = fileURLToPath(new URL("./chaos/run.ts", import.meta.url));
  const args = [program, "--only", "full-disk", "--fills", "50", "--seed", "1"];
  const env = { ...process.env, PATH: folder.path, TMPDIR: folder.path };
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  expect(status).toBe(1);
  expect(stdout).toContain("errors: it ended early: ");
  const [, left = ""] = /the files are in (.+)/.exec(stdout) ?? [];
  expect(existsSync(join(left, "postrider.db"))).toBe(true);
});
