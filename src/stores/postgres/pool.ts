import { type BackOff, computeBackOff } from "../../core/back-off.ts";
import { pause } from "../../system/pause.ts";
import type { PgPool, PooledClient } from "./driver.ts";
import { isUnavailable } from "./store-errors.ts";

/** Not all processes at once: they lost the database together. */
const RETRY: BackOff = { firstMs: 20, maxMs: 1000, spread: [0.5, 1] };

export function computeRetryPause(failures: number, maxMs: number = RETRY.maxMs): number {
  return computeBackOff({ ...RETRY, maxMs }, failures, Math.random());
}

/** A free connection. While the database is away, it is tried again until the deadline, on the monotonic clock. */
export async function acquireClient(pool: PgPool, deadline: number): Promise<PooledClient> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await pool.connect();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() >= deadline) throw error;
      await pause(Math.min(computeRetryPause(failures), Math.max(1, deadline - performance.now())));
    }
  }
}
