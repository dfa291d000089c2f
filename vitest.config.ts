import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Whoever has a key in their environment must not pay for the tests, nor get other answers.
    env: { POSTRIDER_AGENT: "echo" },
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Some tests measure how long the loop is held up; beside others they would measure those.
    fileParallelism: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
