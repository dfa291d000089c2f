import { indexMessages } from "../../sql/search.ts";
import { openWriter } from "../connection.ts";
import { runInTransaction } from "./repair-database.ts";

/** One commit each: other writers wait a few milliseconds at most. */
const INDEX_CHUNK = 512;

/**
 * Adds all pending messages to the search index, or as many as `untilMs` allows, and returns the number that is left. If
 * it is interrupted, the next process continues.
 */
export function indexPending(
  file: string,
  options: { readonly untilMs?: number; onProgress?(done: number, all: number): void } = {},
): number {
  const db = openWriter({ file });
  try {
    const countPending = (): number =>
      db.get<{ n: number }>(
        "select coalesce(sum(next_seq - 1 - indexed_seq), 0) as n from sessions where indexed_seq < next_seq - 1",
      )?.n ?? 0;
    const all = countPending();
    const until = performance.now() + (options.untilMs ?? Number.POSITIVE_INFINITY);
    for (let done = 0, last = INDEX_CHUNK; last >= INDEX_CHUNK && performance.now() < until; done += last) {
      options.onProgress?.(Math.min(done, all), all);
      last = runInTransaction(db, () => indexMessages(db, INDEX_CHUNK));
    }
    return countPending();
  } finally {
    db.close();
  }
}
