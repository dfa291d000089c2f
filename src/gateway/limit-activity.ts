import type { Flow } from "./flow.ts";

/** A clock is trusted after so long without a step. */
const STEADY_MS = 3_600_000;
/** A smaller difference is not a step. */
const MIN_CLOCK_STEP_MS = 60_000;

/**
 * Clamps activity that was stored under a clock that was ahead, so that the conversation expires in time. Only after an
 * hour without a step of the clock: a machine that has just started may be years behind, and must not age every
 * conversation. Called every minute.
 */
export function activityLimiter({ store, clock }: Pick<Flow, "store" | "clock">): () => Promise<void> {
  const computeOffset = (): number => clock.now() - clock.monotonic();
  let last = computeOffset();
  let steadySince = clock.monotonic();
  return async () => {
    const current = computeOffset();
    const isSet = Math.abs(current - last) > MIN_CLOCK_STEP_MS;
    last = current;
    if (isSet) steadySince = clock.monotonic();
    if (clock.monotonic() - steadySince < STEADY_MS) return;
    await store.conversations.clampActivity({ now: clock.now() });
    steadySince = clock.monotonic();
  };
}
