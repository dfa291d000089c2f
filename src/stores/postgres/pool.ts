import { pause } from "../../system/pause.ts";
import type { PgPool, PooledClient } from "./driver.ts";
import { isUnavailable } from "./store-errors.ts";

const MIN_BACK_OFF_MS = 20;
const MAX_BACK_OFF_MS = 1000;

/** A random part of a time that doubles with each attempt. */
export function computeRetryPause(attempt: number, maxMs: number = MAX_BACK_OFF_MS): number {
  return (0.5 + Math.random() / 2) * Math.min(maxMs, MIN_BACK_OFF_MS * 2 ** Math.min(attempt, 20));
}

/** A free connection. While the database is away, it is tried again until the deadline, on the monotonic clock. */
export async function acquireClient(pool: PgPool, deadline: number): Promise<PooledClient> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await pool.connect();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() >= deadline) throw error;
      await pause(Math.min(computeRetryPause(attempt), Math.max(1, deadline - performance.now())));
    }
  }
}
