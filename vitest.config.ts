import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { skippedReporter } from "./test/support/skipped-reporter.ts";
import { slowestReporter } from "./test/support/slowest-reporter.ts";

const ROOT = fileURLToPath(new URL(".", import.meta.url));

// Each test process and each of its children starts in less than half the time when its code is compiled already.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, "node_modules", ".cache", "tests");

/** These have a short form in `npm test` and run at full length in `npm run proof`. */
const SCHEDULED = globSync("{src,test}/**/*.test.ts", { cwd: ROOT }).filter((file) =>
  readFileSync(join(ROOT, file), "utf8").includes("support/schedule.ts"),
);

/** These measure how long something takes or is held up; beside others they would measure those. */
const MEASURED = ["test/processes.test.ts", "test/gateway-prompt.test.ts"];

/** These have no short form. */
const PROOF_ONLY = [
  "src/stores/sqlite/scopes.test.ts",
  "test/async-twin-contract.test.ts",
  "test/async-twin.test.ts",
  "test/postgres-pooler.test.ts",
];
/** Of these, the ones that measure. */
const PROOF_ONLY_MEASURED = ["test/latency.test.ts"];

/** These replace modules, which others in the same process would see. */
const ISOLATED = ["src/stores/sqlite/worker-channel.test.ts"];

/** Twice as many as two cores: many tests wait for other processes. */
const WORKERS = 4;

/** A zone in which it is noon: no test that runs on the real clock meets the hour at which conversations start afresh. */
function zoneAtNoon(): string {
  const ahead = 12 - new Date().getUTCHours();
  return `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`; // these names have the sign the other way round
}

export default defineConfig(({ mode }) => {
  const isProof = mode === "proof";
  const common = {
    // Whoever has a key in their environment must not pay for the tests, nor get other answers.
    env: { POSTRIDER_AGENT: "echo", POSTRIDER_PROOF: isProof ? "1" : "", TZ: zoneAtNoon() },
    globalSetup: "test/support/postgres-setup.ts",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  };
  return {
    test: {
      reporters: ["default", skippedReporter(), ...(isProof ? [slowestReporter()] : [])],
      projects: [
        {
          test: {
            ...common,
            name: "units",
            include: isProof ? [] : ["src/**/*.test.ts"],
            exclude: [...SCHEDULED, ...ISOLATED, ...PROOF_ONLY],
            isolate: false,
            maxWorkers: WORKERS,
            sequence: { groupOrder: 0 },
          },
        },
        {
          test: {
            ...common,
            name: "all",
            include: isProof
              ? [...SCHEDULED, ...PROOF_ONLY]
              : ["test/**/*.test.ts", ...SCHEDULED, ...ISOLATED],
            exclude: [...MEASURED, ...PROOF_ONLY_MEASURED, ...(isProof ? [] : PROOF_ONLY)],
            maxWorkers: isProof ? 2 : WORKERS,
            sequence: { groupOrder: 0 },
          },
        },
        {
          test: {
            ...common,
            name: "measured",
            include: isProof
              ? [...MEASURED.filter((file) => SCHEDULED.includes(file)), ...PROOF_ONLY_MEASURED]
              : MEASURED,
            fileParallelism: false,
            sequence: { groupOrder: 1 },
          },
        },
      ],
    },
  };
});
