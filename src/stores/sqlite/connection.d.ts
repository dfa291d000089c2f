import { type Db } from "../sql/db.ts";
/** A connection to a SQLite file, with every statement prepared once. */
export interface SqliteDb extends Db {
    /** Rows as arrays, one at a time: for a scan of a whole table without holding it in memory. */
    each(sql: string, ...values: readonly unknown[]): Iterable<unknown[]>;
    exec(sql: string): void;
    pragma(text: string): unknown;
    readonly inTransaction: boolean;
    readonly file: string;
    close(): void;
}
export interface WriterOptions {
    readonly file: string;
    /** The maximum size of the database file; a larger write is refused with `disk_full`. */
    readonly maxBytes?: number;
}
/** Opens the database for writing; creates or migrates it first. There is one writer per store. */
export declare function openWriter({ file, maxBytes }: WriterOptions): SqliteDb;
/** A second, read-only connection, for reads that must not wait for the writer. */
export declare function openReader(file: string): SqliteDb;
/**
 * A connection for a reader that may never write; `undefined` if `openWriter` must first create, migrate or diagnose the
 * database. SQLite itself may write through it, so that the last connection to close can remove the log.
 */
export declare function openIfCurrent(file: string): SqliteDb | undefined;
/** Migrates the schema to the newest version in one transaction, after a backup copy. */
export declare function migrate(db: SqliteDb, migrations: readonly string[]): void;
