import { defineConfig } from "vitest/config";
import { skippedReporter } from "./test/support/skipped-reporter.ts";

/** A zone in which it is noon: no test that runs on the real clock meets the hour at which conversations start afresh. */
function zoneAtNoon(): string {
  const ahead = 12 - new Date().getUTCHours();
  return `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`; // these names have the sign the other way round
}

/** These measure how long something takes or is held up; beside others they would measure those. */
const MEASURED = ["test/latency.test.ts", "test/processes.test.ts", "test/gateway-prompt.test.ts"];

const common = {
  // Whoever has a key in their environment must not pay for the tests, nor get other answers.
  env: { POSTRIDER_AGENT: "echo", TZ: zoneAtNoon() },
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  test: {
    reporters: ["default", skippedReporter()],
    projects: [
      {
        test: {
          ...common,
          name: "all",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: MEASURED,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: "measured",
          include: MEASURED,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
