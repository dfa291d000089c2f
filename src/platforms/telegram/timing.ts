import { type BackOff, computeBackOff } from "../../core/back-off.ts";
import { pause } from "../../system/pause.ts";

/** Waiting and chance, so that nobody has to wait to see what happens afterwards. */
export interface Timing {
  /** Resolves after that time, or as soon as the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** 0 ≤ x < 1. */
  random(): number;
}

export const systemTiming: Timing = { wait: pause, random: Math.random };

const RETRY: BackOff = { firstMs: 1000, maxMs: 30_000, spread: [0.5, 1] };

/** How long to wait after the n-th failed request in a row. */
export function computeRetryDelay(failures: number, { random }: Pick<Timing, "random">): number {
  return computeBackOff(RETRY, failures, random());
}
