import type { SqliteDb } from "./connection.ts";
/** A file of an open database that is no longer at its path. */
export interface LostFile {
    readonly path: string;
    readonly how: "removed" | "replaced";
}
export interface FileGuard {
    /** The identity of the database file, even if its path changes later. */
    readonly database: FileIdentity;
    /** Called before each answer. It checks the files unless the last check was a few milliseconds ago. */
    findLost(): LostFile | undefined;
}
export interface FileIdentity {
    readonly dev: number;
    readonly ino: number;
}
/**
 * Records which files a connection has open. SQLite resets and truncates its log but keeps the file while a connection is
 * open, so another inode at the path means that commits go to a file that no other process opens.
 */
export declare function guardFiles(db: SqliteDb): FileGuard;
