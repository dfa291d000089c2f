import type { CallOutcome, LoadedOperations, WriteCall } from "../sql/operations.ts";
import type { SqliteDb } from "./connection.ts";
/** A larger batch is not faster, it only makes calls wait longer. */
export declare const MAX_BATCH = 64;
/**
 * Runs the calls in one transaction, each in its own savepoint, and answers after COMMIT: one disk flush serves them all.
 * If SQLite rolls back the whole transaction, as on a full disk, all calls run again, each alone, in order.
 */
export declare function commitBatch(db: SqliteDb, calls: readonly WriteCall[], operations: LoadedOperations): CallOutcome[];
export declare function rollBack(db: SqliteDb): void;
