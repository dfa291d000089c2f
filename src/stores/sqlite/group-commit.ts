import type { CallOutcome, LoadedOperations, WriteCall } from "../sql/operations.ts";
import type { SqliteDb } from "./connection.ts";
import { retryBusy } from "./store-errors.ts";
import {
  beginImmediateSql,
  commitSql,
  releaseSavepointSql,
  rollbackSql,
  rollbackToSavepointSql,
  savepointSql,
} from "./transaction.ts";

/** A larger batch is not faster, it only makes calls wait longer. */
export const MAX_BATCH = 64;

/**
 * Runs the calls in one transaction, each in its own savepoint, and answers after COMMIT: one disk flush serves them all.
 * If SQLite rolls back the whole transaction, as on a full disk, all calls run again, each alone, in order.
 */
export function commitBatch(
  db: SqliteDb,
  calls: readonly WriteCall[],
  operations: LoadedOperations,
): CallOutcome[] {
  const [only] = calls;
  if (only !== undefined && calls.length === 1) return [commitAlone(db, only, operations)];
  const outcomes: CallOutcome[] = [];
  try {
    retryBusy(() => db.send(beginImmediateSql));
    for (const call of calls) {
      const outcome = runInSavepoint(db, call, operations);
      if (outcome === undefined) return commitEach(db, calls, operations);
      outcomes.push(outcome);
    }
    db.send(commitSql);
    return outcomes;
  } catch {
    // BEGIN, COMMIT or a savepoint failed, not a call: each call alone shows its own result.
    rollBack(db);
    return commitEach(db, calls, operations);
  }
}

/** `undefined` if the transaction was rolled back. */
function runInSavepoint(
  db: SqliteDb,
  call: WriteCall,
  operations: LoadedOperations,
): CallOutcome | undefined {
  db.send(savepointSql);
  try {
    const value = runWrite(db, call, operations);
    db.send(releaseSavepointSql);
    return { value };
  } catch (error) {
    if (!db.inTransaction) return undefined;
    db.send(rollbackToSavepointSql);
    db.send(releaseSavepointSql);
    return { error };
  }
}

function commitEach(db: SqliteDb, calls: readonly WriteCall[], operations: LoadedOperations): CallOutcome[] {
  return calls.map((call) => commitAlone(db, call, operations));
}

function commitAlone(db: SqliteDb, call: WriteCall, operations: LoadedOperations): CallOutcome {
  try {
    retryBusy(() => db.send(beginImmediateSql));
    const value = runWrite(db, call, operations);
    db.send(commitSql);
    return { value };
  } catch (error) {
    rollBack(db);
    return { error };
  }
}

function runWrite(db: SqliteDb, { name, input }: WriteCall, operations: LoadedOperations): unknown {
  const operation = operations.get(name);
  if (operation === undefined) throw new Error(`${name} is not a write of the store`);
  return operation(db, input);
}

export function rollBack(db: SqliteDb): void {
  if (db.inTransaction) db.send(rollbackSql);
}
