import { setTimeout as sleep } from "node:timers/promises";

/** Waiting and chance, so that nobody has to wait to see what happens afterwards. */
export interface Timing {
  /** Resolves after that time, or as soon as the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** 0 ≤ x < 1. */
  random(): number;
}

export const systemTiming: Timing = {
  wait: (ms, signal) =>
    sleep(ms, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    }),
  random: Math.random,
};

const FIRST_MS = 1000;
const LONGEST_MS = 30_000;

/** How long to wait after the n-th failure in a row: doubled each time, and never the same for many at once. */
export function computeBackOffMs(failures: number, random: number): number {
  const step = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(10, failures - 1));
  return Math.round(step * (0.5 + random / 2));
}
