import type { Reporter, TestModule } from "vitest/node";

const SHOWN = 10;

/** Prints at the end which files took longest. */
export function slowestReporter(print: (line: string) => void = console.log): Reporter {
  return {
    onTestRunEnd(modules) {
      const slowest = modules.toSorted((a, b) => durationOf(b) - durationOf(a)).slice(0, SHOWN);
      print(`the ${slowest.length} slowest files:`);
      for (const module of slowest)
        print(`${(durationOf(module) / 1000).toFixed(1).padStart(7)} s  ${module.relativeModuleId}`);
    },
  };
}

/** From the start of the file's worker to the end of its last hook. */
function durationOf(module: TestModule): number {
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } =
    module.diagnostic();
  return environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration;
}
