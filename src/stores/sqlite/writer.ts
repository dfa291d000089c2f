import type { PostriderError } from "../../core/errors.ts";
import type { CallOutcome, LoadedOperations, WriteCall } from "../sql/operations.ts";
import { indexMessages } from "../sql/search.ts";
import { openWriter, type SqliteDb, type WriterOptions } from "./connection.ts";
import { guardFiles } from "./file-guard.ts";
import { commitBatch, MAX_BATCH, rollBack } from "./group-commit.ts";
import { retryBusy, toStoreError } from "./store-errors.ts";
import { beginImmediateSql, commitSql } from "./transaction.ts";
import { rescueDatabase } from "./upkeep/rescue.ts";

/**
 * Words are indexed in idle times: a search reads pending messages directly, which takes a few hundredths of a second for
 * this number. Only above it are they indexed between calls, which costs a third of the speed.
 */
const MAX_UNINDEXED = 8192;
const INDEX_CHUNK = 64;
const IDLE_MS = 20;
/** Other writers take a fraction of this; a process that holds the database longer repairs it. */
const INDEX_TIMEOUT_MS = 20;
const RETRY_MS = 500;

/** The only writing connection: commits calls, and indexes when it is idle. */
export interface Writer {
  /** Never throws: a failed call has an error as its outcome. */
  run(calls: readonly WriteCall[]): CallOutcome[];
  /** Schedules work that can wait until all calls are answered. Call it after that. */
  scheduleIndexing(): void;
  /** Increases when another process has committed. */
  readDataVersion(): number;
  close(): void;
}

const REMOVING_WRITES: ReadonlySet<string> = new Set(["remove", "prune", "erasePerson"]);

export function startWriter(options: WriterOptions, operations: LoadedOperations): Writer {
  const db = openWriter(options);
  const guard = guardFiles(db);
  let lost: PostriderError | undefined;
  let unindexed = 0;
  let commits = 0;
  /** Since the timer was set: setting it again for every call takes longer than this. */
  let wasCalled = false;
  // An earlier process may have left messages that are not indexed.
  let idle: NodeJS.Timeout | undefined = setTimeout(indexWhenIdle, IDLE_MS).unref();

  function indexWhenIdle(): void {
    idle = undefined;
    if (lost !== undefined) return;
    if (wasCalled) {
      wasCalled = false;
      idle = setTimeout(indexWhenIdle, IDLE_MS).unref();
      return;
    }
    const done = indexChunk(db);
    if (done === undefined) idle = setTimeout(indexWhenIdle, RETRY_MS).unref();
    else if (done < INDEX_CHUNK) unindexed = 0;
    else idle = setTimeout(indexWhenIdle, 0).unref();
  }

  return {
    run(calls) {
      const refuse = (error: PostriderError): CallOutcome[] => calls.map(() => ({ error }));
      if (lost !== undefined) return refuse(lost);
      const outcomes: CallOutcome[] = [];
      for (let at = 0; at < calls.length; at += MAX_BATCH) {
        outcomes.push(...commitBatch(db, calls.slice(at, at + MAX_BATCH), operations));
      }
      if (calls.some((call) => REMOVING_WRITES.has(call.name))) truncateLog(db);
      // After the commit and before the answer: no write to a deleted file is acknowledged.
      const missing = guard.findLost();
      if (missing !== undefined) {
        lost = rescueDatabase(db, missing, guard.database);
        return refuse(lost);
      }
      unindexed += calls.length;
      return outcomes.map((outcome) =>
        "error" in outcome ? { error: toStoreError(outcome.error, options.file) } : outcome,
      );
    },
    scheduleIndexing() {
      if (lost !== undefined) return;
      if (unindexed >= MAX_UNINDEXED && (indexChunk(db) ?? INDEX_CHUNK) < INDEX_CHUNK) unindexed = 0;
      if (idle === undefined) idle = setTimeout(indexWhenIdle, IDLE_MS).unref();
      else wasCalled = true;
    },
    readDataVersion() {
      try {
        commits = Number(db.pragma("data_version"));
      } catch {
        // Another process repairs the log of a killed one. The next call shows changes.
      }
      return commits;
    },
    close() {
      clearTimeout(idle);
      db.close();
    },
  };
}

/**
 * One small commit of index work; `undefined` if it fails now. It never waits long: searches work without it, and in a
 * process with one thread everything else would wait, too.
 */
function indexChunk(db: SqliteDb): number | undefined {
  try {
    retryBusy(() => db.run(beginImmediateSql), INDEX_TIMEOUT_MS);
    const done = indexMessages(db, INDEX_CHUNK);
    db.run(commitSql);
    return done;
  } catch {
    rollBack(db);
    return undefined;
  }
}

/** Deleted words are overwritten in the database file, but the log still contains their pages. */
function truncateLog(db: SqliteDb): void {
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
  } catch {
    // A reader prevents it; the next checkpoint overwrites them.
  }
}
