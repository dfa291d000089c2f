import { setTimeout as sleep } from "node:timers/promises";

/** Timers and randomness. Tests replace them to avoid waiting. */
export interface Timing {
  /** Resolves after `ms`, or as soon as the signal aborts. */
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
const MAX_MS = 30_000;

/** The wait after the n-th failure in a row: exponential, with jitter. */
export function computeBackOffMs(failures: number, random: number): number {
  const step = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(10, failures - 1));
  return Math.round(step * (0.5 + random / 2));
}
