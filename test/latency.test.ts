import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Measured, Times } from "./latency/child.ts";
import { startChild } from "./support/child.ts";
import { temporaryFolder } from "./support/folder.ts";
import { percentile } from "./support/numbers.ts";

it("keeps the main thread free and accepts messages at once during searches in 200,000 messages", async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  // In a separate process, so that the measured event loop has no other work.
  const program = new URL("./latency/child.ts", import.meta.url);
  const child = startChild(program, [join(folder.path, "postrider.db"), "8"]);
  onTestFinished(() => void child.process.kill("SIGKILL"));
  const measured = await child.heard<Measured>(() => true);
  const { loop, accept, append, search, history } = measured;
  const shown = ({ count, p50, p99, max }: Times): string =>
    `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)} ms (${count})`;
  console.log(
    [
      `${measured.messages} messages: imported in ${measured.importSeconds.toFixed(1)} s, indexed in ${measured.indexSeconds.toFixed(1)} s`,
      `loop    ${shown(loop)}; longest in each second: ${measured.eachSecond.loop.map((ms) => ms.toFixed(0)).join(", ")}`,
      `accept  ${shown(accept)}`,
      `append  ${shown(append)}, ${measured.appendsPerSecond.toFixed(0)} a second`,
      `search  ${shown(search)}`,
      `history ${shown(history)}`,
    ].join("\n"),
  );
  expect(measured.appendsPerSecond).toBeGreaterThan(1500);
  expect(measured.commonHits).toBeGreaterThan(3);
  expect(loop.p99).toBeLessThan(10);
  // Delays by the program occur in every second; delays by the machine do not.
  expect(measured.eachSecond.loop.length).toBeGreaterThan(4);
  expect(percentile(measured.eachSecond.loop, 0.5)).toBeLessThan(50);
  expect(percentile(measured.eachSecond.accept, 0.5)).toBeLessThan(50);
}, 120_000);
