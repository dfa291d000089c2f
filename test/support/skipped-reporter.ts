import type { Reporter, TestCase, TestModule } from "vitest/node";

/** Prints at the end why tests were skipped: the default reporter tells only how many when it runs several files. */
export function skippedReporter(print: (line: string) => void = console.log): Reporter {
  return {
    onTestRunEnd(modules) {
      const counts = new Map<string, number>();
      for (const { reason, test } of modules.flatMap(skippedWithReason)) {
        const line = `${test.module.relativeModuleId} > ${outermostSuite(test)}: ${reason}`;
        counts.set(line, (counts.get(line) ?? 0) + 1);
      }
      for (const [line, count] of counts) print(`skipped ${count}: ${line}`);
    },
  };
}

/** Those without a reason were not selected, or say in their source on which system they run. */
function skippedWithReason(module: TestModule): { readonly reason: string; readonly test: TestCase }[] {
  return [...module.children.allTests("skipped")].flatMap((test) => {
    const result = test.result();
    return result.state === "skipped" && result.note !== undefined ? [{ reason: result.note, test }] : [];
  });
}

function outermostSuite(test: TestCase): string {
  return test.fullName.split(" > ")[0] ?? test.name;
}
