/** Thrown by a test that needs an optional part of the harness. */
class RuleSkipped extends Error {}

/** Ends the test: the rule counts as skipped, and the runner prints the reason. */
export function skipRule(reason: string): never {
  throw new RuleSkipped(reason);
}

/** Returns an optional part of a harness, or skips the rule. */
export function requirePart<Part>(part: Part | undefined, reason: string): Part {
  return part ?? skipRule(reason);
}

export type TestBody = (...context: readonly unknown[]) => Promise<void>;

/**
 * Builds the body of a test. Vitest and Node pass a context that can skip the test. Jest passes none (and would pass a
 * callback to a body with a declared parameter); there the reason is printed as a warning.
 */
export function createTestBody(rule: string, proof: () => Promise<void>): TestBody {
  return async (...[test]) => {
    try {
      await proof();
    } catch (error) {
      if (!(error instanceof RuleSkipped)) throw error;
      if (canSkip(test)) test.skip(error.message);
      else console.warn(`skipped: ${rule}: ${error.message}`);
    }
  };
}

function canSkip(test: unknown): test is { skip(reason: string): void } {
  // Vitest's context is a function, for compatibility with Jest's callback.
  const isContext = typeof test === "function" || (typeof test === "object" && test !== null);
  return isContext && "skip" in test && typeof test.skip === "function";
}
