import type { Db } from "./connection.ts";
import { retryBusy } from "./failure.ts";
import { type Call, type Outcome, write } from "./operations.ts";
import * as sql from "./sql.ts";

/** More per commit brings no more speed, only longer waits. */
export const BATCH = 64;

/**
 * Runs the calls in one transaction, each in a savepoint of its own, and answers only after COMMIT has returned:
 * one wait for the disk serves them all. A call that fails takes back its own work and nobody else's.
 *
 * A full disk may make SQLite roll the whole transaction back, and with it calls that had succeeded. Their
 * answers were not given yet, so all calls then run again, each alone, in order.
 */
export function commitTogether(db: Db, calls: readonly Call[]): Outcome[] {
  if (calls.length === 1) return commitAlone(db, calls);
  const outcomes: Outcome[] = [];
  try {
    retryBusy(() => db.run(sql.beginImmediate));
    for (const call of calls) {
      const outcome = inSavepoint(db, call);
      if (outcome === undefined) return commitAlone(db, calls);
      outcomes.push(outcome);
    }
    db.run(sql.commit);
    return outcomes;
  } catch {
    // BEGIN, COMMIT or a savepoint failed, not a call: what is true of each call shows when it runs alone.
    rollBack(db);
    return commitAlone(db, calls);
  }
}

/** `undefined` when the transaction is gone. */
function inSavepoint(db: Db, call: Call): Outcome | undefined {
  db.run(sql.savepoint);
  try {
    const value = write(call.name)(db, call.input);
    db.run(sql.releaseSavepoint);
    return { value };
  } catch (error) {
    if (!db.inTransaction) return undefined;
    db.run(sql.rollbackToSavepoint);
    db.run(sql.releaseSavepoint);
    return { error };
  }
}

function commitAlone(db: Db, calls: readonly Call[]): Outcome[] {
  return calls.map((call) => {
    try {
      retryBusy(() => db.run(sql.beginImmediate));
      const value = write(call.name)(db, call.input);
      db.run(sql.commit);
      return { value };
    } catch (error) {
      rollBack(db);
      return { error };
    }
  });
}

export function rollBack(db: Db): void {
  if (db.inTransaction) db.run(sql.rollback);
}
