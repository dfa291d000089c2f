import { PostriderError } from "../core/errors.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { pause } from "../system/pause.ts";

const RETRY_MS = 2000;

/**
 * Starts a gateway again after another one has taken over, under a new runner. Waits for a database that is away. The former
 * runner is retired first, if its own end failed: as long as this process lives, it would count as alive and keep its work.
 */
export async function standByAgain<Started>(options: {
  readonly store: Pick<Store, "runners">;
  readonly log: Pick<Log, "warn">;
  readonly formerRunner: string;
  start(): Promise<Started>;
  /** Aborts when the process is asked to end. */
  readonly signal: AbortSignal;
}): Promise<Started> {
  const { store, log, formerRunner, start, signal } = options;
  for (;;) {
    try {
      await store.runners.retire({ runner: formerRunner });
      return await start();
    } catch (error) {
      if (signal.aborted || !isStoreAway(error)) throw error;
      log.warn({ error }, "the database cannot be reached; the gateway retries");
      await pause(RETRY_MS, signal);
    }
  }
}

export function isStoreAway(error: unknown): boolean {
  return error instanceof PostriderError && error.code === "store_unavailable";
}
