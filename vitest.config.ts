import { defineConfig } from "vitest/config";

/** A zone in which it is noon: no test that runs on the real clock meets the hour at which conversations start afresh. */
function zoneAtNoon(): string {
  const ahead = 12 - new Date().getUTCHours();
  return `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`; // these names have the sign the other way round
}

export default defineConfig({
  test: {
    // Whoever has a key in their environment must not pay for the tests, nor get other answers.
    env: { POSTRIDER_AGENT: "echo", TZ: zoneAtNoon() },
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Some tests measure how long the loop is held up; beside others they would measure those.
    fileParallelism: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
