import { type BackOff, computeBackOff } from "../../core/back-off.ts";
import { pause } from "../../system/pause.ts";

/** Timers and randomness. Tests replace them to avoid waiting. */
export interface Timing {
  /** Resolves after `ms`, or as soon as the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** 0 ≤ x < 1. */
  random(): number;
}

export const systemTiming: Timing = { wait: pause, random: Math.random };

const RETRY: BackOff = { firstMs: 1000, maxMs: 30_000, spread: [0.5, 1] };

/** The wait after the n-th failure in a row: exponential, with jitter. */
export function computeRetryDelay(failures: number, { random }: Pick<Timing, "random">): number {
  return computeBackOff(RETRY, failures, random());
}
