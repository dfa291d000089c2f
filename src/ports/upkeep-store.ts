import type { Now } from "./store-request.ts";

/** Removal of old rows. */
export interface UpkeepStore {
  /**
   * Removes final deliveries, done inbox rows, ended turns, used codes, answered approvals and done flushes from before
   * `before`, and processes that ended more than `OUTPUT_KEPT_MS` ago, with their output. `more`: call it again.
   */
  purgeFinished(
    input: { readonly before: number; readonly limit: number } & Now,
  ): Promise<{ readonly more: boolean }>;
}
