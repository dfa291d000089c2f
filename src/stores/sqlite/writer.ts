import type { PostriderError } from "../../core/errors.ts";
import { type Db, openWriter, type WriterOptions } from "./connection.ts";
import { retryBusy, storeError } from "./failure.ts";
import { guardFiles } from "./file-guard.ts";
import { BATCH, commitTogether, rollBack } from "./group-commit.ts";
import type { Call, Outcome } from "./operations.ts";
import { indexMessages } from "./search.ts";
import * as sql from "./sql.ts";
import { rescueDatabase } from "./upkeep/rescue.ts";

/**
 * Words are indexed in quiet moments: a search finds what waits by reading it, which for this many messages takes a
 * few hundredths of a second. Only when more wait are they indexed between the calls, which costs a third of the speed.
 */
const MOST_WAITING = 8192;
const INDEX_CHUNK = 64;
const IDLE_MS = 20;
/** Others write for a fraction of this; whoever holds the database longer repairs it. */
const INDEX_PATIENCE_MS = 20;
const AGAIN_MS = 500;

/** The one writing connection: commits what it is given, and indexes when nobody waits. */
export interface Writer {
  /** Never throws: a call's failure is its outcome. */
  run(calls: readonly Call[]): Outcome[];
  /** What can wait until everyone has their answer. To be called after they do. */
  tidy(): void;
  /** Rises when another process has committed something. */
  foreignCommits(): number;
  close(): void;
}

const REMOVES: ReadonlySet<string> = new Set(["remove", "prune", "erasePerson"]);

export function startWriter(options: WriterOptions): Writer {
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
    const done = index(db);
    if (done === undefined) idle = setTimeout(indexWhenIdle, AGAIN_MS).unref();
    else if (done < INDEX_CHUNK) unindexed = 0;
    else idle = setTimeout(indexWhenIdle, 0).unref();
  }

  return {
    run(calls) {
      const refuse = (error: PostriderError): Outcome[] => calls.map(() => ({ error }));
      if (lost !== undefined) return refuse(lost);
      const outcomes: Outcome[] = [];
      for (let at = 0; at < calls.length; at += BATCH) {
        outcomes.push(...commitTogether(db, calls.slice(at, at + BATCH)));
      }
      if (calls.some((call) => REMOVES.has(call.name))) forget(db);
      // After the commit and before the answer: nothing is acknowledged that went into a file without a name.
      const missing = guard.findLost();
      if (missing !== undefined) {
        lost = rescueDatabase(db, missing, guard.database);
        return refuse(lost);
      }
      unindexed += calls.length;
      return outcomes.map((outcome) =>
        "error" in outcome ? { error: storeError(outcome.error, options.file) } : outcome,
      );
    },
    tidy() {
      if (lost !== undefined) return;
      if (unindexed >= MOST_WAITING && (index(db) ?? INDEX_CHUNK) < INDEX_CHUNK) unindexed = 0;
      if (idle === undefined) idle = setTimeout(indexWhenIdle, IDLE_MS).unref();
      else idle.refresh();
    },
    foreignCommits() {
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
function index(db: Db): number | undefined {
  try {
    retryBusy(() => db.run(sql.beginImmediate), INDEX_PATIENCE_MS);
    const done = indexMessages(db, INDEX_CHUNK);
    db.run(sql.commit);
    return done;
  } catch {
    rollBack(db);
    return undefined;
  }
}

/** Removed words are out of the database file, but the log still has the pages they stood on. */
function forget(db: Db): void {
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
  } catch {
    // A reader is in the way; the next checkpoint overwrites them.
  }
}
