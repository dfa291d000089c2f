import { PostriderError } from "../../../core/errors.ts";
import type { SqliteDb } from "../connection.ts";
import type { FileIdentity, LostFile } from "../file-guard.ts";
/**
 * Saves everything that an open connection can still read, after its files were removed or replaced, and returns an error
 * with the path. The connection reads its open files, so the copy contains every acknowledged commit.
 */
export declare function rescueDatabase(db: SqliteDb, lost: LostFile, own: FileIdentity, now?: number): PostriderError;
