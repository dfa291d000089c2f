/** Thrown by a proof that needs what the driver under test does not have. */
class RuleSkipped extends Error {}

/** Ends the proof: the rule counts as skipped, and the runner prints the reason. */
export function skipRule(reason: string): never {
  throw new RuleSkipped(reason);
}

/** The optional part of a harness; without it, the rule is skipped. */
export function requirePart<Part>(part: Part | undefined, reason: string): Part {
  return part ?? skipRule(reason);
}

export type TestBody = (...context: readonly unknown[]) => Promise<void>;

/**
 * A test of the rule. Vitest and Node give the test a context that can skip it. Jest gives none, and would give a callback
 * to a body with a parameter of its own; there the reason is a warning.
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
  // Vitest's context is a function, for those who call it as they would call Jest's callback.
  const isContext = typeof test === "function" || (typeof test === "object" && test !== null);
  return isContext && "skip" in test && typeof test.skip === "function";
}
