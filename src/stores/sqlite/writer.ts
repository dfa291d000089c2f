import type { PostriderError } from "../../core/errors.ts";
import { type Db, openWriter, type WriterOptions } from "./connection.ts";
import { guardFiles } from "./file-guard.ts";
import { commitBatch, MAX_BATCH, rollBack } from "./group-commit.ts";
import type { CallOutcome, LoadedOperations, WriteCall } from "./operations.ts";
import { indexMessages } from "./search.ts";
import * as sql from "./sql.ts";
import { retryBusy, toStoreError } from "./store-errors.ts";
import { rescueDatabase } from "./upkeep/rescue.ts";

/**
 * Words are indexed in quiet moments: a search finds what waits by reading it, which for this many messages takes a
 * few hundredths of a second. Only when more wait are they indexed between the calls, which costs a third of the speed.
 */
const MAX_UNINDEXED = 8192;
const INDEX_CHUNK = 64;
const IDLE_MS = 20;
/** Others write for a fraction of this; whoever holds the database longer repairs it. */
const INDEX_TIMEOUT_MS = 20;
const RETRY_MS = 500;

/** The one writing connection: commits what it is given, and indexes when nobody waits. */
export interface Writer {
  /** Never throws: a call's failure is its outcome. */
  run(calls: readonly WriteCall[]): CallOutcome[];
  /** What can wait until everyone has their answer. To be called after they do. */
  scheduleIndexing(): void;
  /** Rises when another process has committed something. */
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
  // An earlier process may have left something.
  let idle: NodeJS.Timeout | undefined = setTimeout(indexWhenIdle, IDLE_MS).unref();

  function indexWhenIdle(): void {
    idle = undefined;
    if (lost !== undefined) return;
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
      // After the commit and before the answer: nothing is acknowledged that went into a file without a name.
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
      else idle.refresh();
    },
    readDataVersion() {
      try {
        commits = Number(db.pragma("data_version"));
      } catch {
        // Another process repairs the log of one that was killed. The next look tells.
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
 * One small commit of index work; `undefined` if it cannot be done now. It is not worth waiting for, as the words are
 * found without it too, and in a program with one thread everything else would wait along.
 */
function indexChunk(db: Db): number | undefined {
  try {
    retryBusy(() => db.run(sql.beginImmediateSql), INDEX_TIMEOUT_MS);
    const done = indexMessages(db, INDEX_CHUNK);
    db.run(sql.commitSql);
    return done;
  } catch {
    rollBack(db);
    return undefined;
  }
}

/** Removed words are out of the database file, but the log still has the pages they stood on. */
function truncateLog(db: Db): void {
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
  } catch {
    // A reader is in the way; the next checkpoint overwrites them.
  }
}
