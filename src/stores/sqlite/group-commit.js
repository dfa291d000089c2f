import { retryBusy } from "./store-errors.js";
import { beginImmediateSql, commitSql, releaseSavepointSql, rollbackSql, rollbackToSavepointSql, savepointSql, } from "./transaction.js";
/** A larger batch is not faster, it only makes calls wait longer. */
export const MAX_BATCH = 64;
/**
 * Runs the calls in one transaction, each in its own savepoint, and answers after COMMIT: one disk flush serves them all.
 * If SQLite rolls back the whole transaction, as on a full disk, all calls run again, each alone, in order.
 */
export function commitBatch(db, calls, operations) {
    if (calls.length === 1)
        return commitEach(db, calls, operations);
    const outcomes = [];
    try {
        retryBusy(() => db.run(beginImmediateSql));
        for (const call of calls) {
            const outcome = runInSavepoint(db, call, operations);
            if (outcome === undefined)
                return commitEach(db, calls, operations);
            outcomes.push(outcome);
        }
        db.run(commitSql);
        return outcomes;
    }
    catch {
        // BEGIN, COMMIT or a savepoint failed, not a call: each call alone shows its own result.
        rollBack(db);
        return commitEach(db, calls, operations);
    }
}
/** `undefined` if the transaction was rolled back. */
function runInSavepoint(db, call, operations) {
    db.run(savepointSql);
    try {
        const value = runWrite(db, call, operations);
        db.run(releaseSavepointSql);
        return { value };
    }
    catch (error) {
        if (!db.inTransaction)
            return undefined;
        db.run(rollbackToSavepointSql);
        db.run(releaseSavepointSql);
        return { error };
    }
}
function commitEach(db, calls, operations) {
    return calls.map((call) => {
        try {
            retryBusy(() => db.run(beginImmediateSql));
            const value = runWrite(db, call, operations);
            db.run(commitSql);
            return { value };
        }
        catch (error) {
            rollBack(db);
            return { error };
        }
    });
}
function runWrite(db, { name, input }, operations) {
    const operation = operations.get(name);
    if (operation === undefined)
        throw new Error(`${name} is not a write of the store`);
    return operation(db, input);
}
export function rollBack(db) {
    if (db.inTransaction)
        db.run(rollbackSql);
}
