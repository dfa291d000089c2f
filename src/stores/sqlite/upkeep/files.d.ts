import { PostriderError } from "../../../core/errors.ts";
/** Suffixes of the files that SQLite may create beside a database. */
export declare const SIDE_FILE_SUFFIXES: readonly ["-wal", "-shm", "-journal"];
/** A name in the same folder for an unfinished file. */
export declare function buildTemporaryName(file: string): string;
/** Creates an empty file that only its owner may read; fails if it exists. */
export declare function createPrivateFile(file: string): void;
/** Gives a finished file its name, durably. Without `overwrite`, an existing file stays, and this fails. */
export declare function moveIntoPlace(unfinished: string, file: string, overwrite: boolean): void;
export declare function removeDatabaseFiles(file: string): void;
export declare function syncFile(file: string): void;
/** A new name is durable when its folder is synced. */
export declare function syncParentFolder(file: string): void;
export declare function hasFile(file: string): boolean;
/** Whether two paths lead to one file. */
export declare function isSameFile(first: string, second: string): boolean;
export declare function createFileExistsError(file: string): PostriderError;
