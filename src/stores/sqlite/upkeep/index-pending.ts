import { openWriter } from "../connection.ts";
import { indexMessages } from "../search.ts";
import { runInTransaction } from "./repair-database.ts";

/** One commit each: others who write wait no longer than a few milliseconds. */
const INDEX_CHUNK = 512;

/**
 * Puts what waits for the search index into it, all of it or for as long as `untilMs` says, and returns how many messages
 * still wait. Cut short, the next process continues.
 */
export function indexPending(
  file: string,
  options: { readonly untilMs?: number; onProgress?(done: number, all: number): void } = {},
): number {
  const db = openWriter({ file });
  try {
    const waiting = (): number =>
      db.get<{ n: number }>(
        "select coalesce(sum(next_seq - 1 - indexed_seq), 0) as n from sessions where indexed_seq < next_seq - 1",
      )?.n ?? 0;
    const all = waiting();
    const until = performance.now() + (options.untilMs ?? Number.POSITIVE_INFINITY);
    for (let done = 0, last = INDEX_CHUNK; last >= INDEX_CHUNK && performance.now() < until; done += last) {
      options.onProgress?.(Math.min(done, all), all);
      last = runInTransaction(db, () => indexMessages(db, INDEX_CHUNK));
    }
    return waiting();
  } finally {
    db.close();
  }
}
