import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

export interface TestsAsked {
  /** The root of the tree in which they run. */
  readonly root: string;
  readonly files: readonly string[];
  /** Parts of titles; without any, all tests of the files run. */
  readonly titles?: readonly string[];
  readonly seconds: number;
}

/** The result of the tests. `broken`: they did not run, so the result is unknown. */
export type TestsEnd =
  | { readonly outcome: "passed" }
  | { readonly outcome: "failed"; readonly test: string; readonly message: string }
  | { readonly outcome: "timed_out" }
  | { readonly outcome: "broken"; readonly reason: string };

interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** A test that hangs because of a mutation fails after this time. */
const TEST_TIMEOUT_MS = 20_000;

const running = new Set<ChildProcess>();

/** Ends the running tests with all processes of their group. */
export function endTests(): void {
  for (const child of running) endGroup(child);
}

export async function runTests({ root, files, titles = [], seconds }: TestsAsked): Promise<TestsEnd> {
  const report = join(root, "mutants-report.json");
  rmSync(report, { force: true });
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = [
    ...["run", ...files, "--bail=1", "--reporter=json", `--outputFile=${report}`],
    ...[`--testTimeout=${TEST_TIMEOUT_MS}`, `--hookTimeout=${TEST_TIMEOUT_MS}`],
    ...(titles.length > 0 ? ["-t", titles.map(asPattern).join("|")] : []),
  ];
  const child = spawn(process.execPath, [vitest, ...args], {
    cwd: root,
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
    env: { ...process.env, NODE_ENV: "test" },
  });
  running.add(child);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = `${errors}${text}`.slice(-4000);
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child);
  }, seconds * 1000);
  await new Promise<void>((resolve, reject) => child.once("exit", () => resolve()).once("error", reject));
  clearTimeout(timer);
  running.delete(child);
  if (isLate) return { outcome: "timed_out" };
  return endOf(readReport(report), errors);
}

function asPattern(title: string): string {
  return title.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

function readReport(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Report;
  } catch {
    return undefined;
  }
}

function endOf(report: Report | undefined, errors: string): TestsEnd {
  if (report === undefined) return { outcome: "broken", reason: errors.trim() || "vitest wrote no report" };
  const suite = report.testResults.find(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  );
  if (suite !== undefined)
    return { outcome: "broken", reason: `${suite.name} did not load: ${suite.message.split("\n")[0]}` };
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.find(({ status }) => status === "failed");
  if (failed === undefined && report.success && report.numPassedTests > 0) return { outcome: "passed" };
  if (failed === undefined)
    return {
      outcome: "broken",
      reason: report.success ? "no test ran" : `no test failed, but: ${errors.trim()}`,
    };
  const [message = ""] = failed.failureMessages;
  // A ReferenceError does not show that the promise is tested.
  if (message.startsWith("ReferenceError"))
    return { outcome: "broken", reason: message.split("\n")[0] ?? "" };
  return { outcome: "failed", test: failed.fullName, message: message.split("\n")[0] ?? "" };
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}
