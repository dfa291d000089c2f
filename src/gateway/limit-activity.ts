import type { Flow } from "./flow.ts";

/** A clock that was not set for so long is believed, */
const STEADY_MS = 3_600_000;
/** and this much is no step. */
const MIN_CLOCK_STEP_MS = 60_000;

/**
 * A conversation that was active under a clock that was ahead would not expire before that time comes. Its activity counts
 * as of now, once the clock has run for an hour without a step: a machine that has just started may be behind by years,
 * and must not age every conversation. To be called now and then.
 */
export function activityLimiter({ store, clock }: Pick<Flow, "store" | "clock">): () => Promise<void> {
  const offset = (): number => clock.now() - clock.monotonic();
  let last = offset();
  let steadySince = clock.monotonic();
  return async () => {
    const current = offset();
    const isSet = Math.abs(current - last) > MIN_CLOCK_STEP_MS;
    last = current;
    if (isSet) steadySince = clock.monotonic();
    if (clock.monotonic() - steadySince < STEADY_MS) return;
    await store.conversations.clampActivity({ now: clock.now() });
    steadySince = clock.monotonic();
  };
}
