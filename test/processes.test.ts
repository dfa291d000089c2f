import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { driveProcesses } from "./processes/drive.ts";
import { temporaryFolder } from "./support/folder.ts";
import { percentile } from "./support/numbers.ts";

it("lets four processes write one file: no lock error, nothing lost, nothing doubled, seen within 250 ms", async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const file = join(folder.path, "postrider.db");
  const report = await driveProcesses({ file, processes: 4, seconds: 10 });
  const [p50, p95, max] = [0.5, 0.95, 1].map((share) => percentile(report.delays, share).toFixed(0));
  console.log(
    `operations ${report.operations}, messages that came to several processes ${report.contested}; ` +
      `seen elsewhere after ${p50} ms (p95 ${p95}, max ${max}; ${report.delays.length} times)`,
  );
  expect(report.errors).toEqual([]);
  expect(report.lost).toEqual([]);
  expect(report.doubled).toEqual([]);
  expect(report.operations).toBeGreaterThan(1000);
  expect(report.contested).toBeGreaterThan(100);
  expect(report.calls).toBeGreaterThan(10);
  expect(percentile(report.delays, 1)).toBeLessThanOrEqual(250);
}, 60_000);
