import type { Now } from "./store-request.ts";

/** Removal of rows that nobody needs any more. */
export interface UpkeepStore {
  /**
   * Settled deliveries, done inbox rows, ended turns, used codes, answered questions and done flushes from before `before`
   * are gone; so are processes that ended longer than `OUTPUT_KEPT_MS` ago, with their output.
   */
  purgeFinished(
    input: { readonly before: number; readonly limit: number } & Now,
  ): Promise<{ readonly more: boolean }>;
}
