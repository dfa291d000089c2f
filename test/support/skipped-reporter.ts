import type { Reporter, TestCase, TestModule } from "vitest/node";

/** Prints the reasons of skipped tests at the end. With several files, the default reporter prints only their number. */
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

/** Tests without a reason were not selected, or their source states the required system. */
function skippedWithReason(module: TestModule): { readonly reason: string; readonly test: TestCase }[] {
  return [...module.children.allTests("skipped")].flatMap((test) => {
    const result = test.result();
    return result.state === "skipped" && result.note !== undefined ? [{ reason: result.note, test }] : [];
  });
}

function outermostSuite(test: TestCase): string {
  return test.fullName.split(" > ")[0] ?? test.name;
}
