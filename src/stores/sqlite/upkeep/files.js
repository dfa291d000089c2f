import { basename, dirname } from "node:path";
import { PostriderError } from "../../../core/errors.js";
import { randomHex } from "../../sql/random-hex.js";
// Not an import: every writer loads this file, and creating an ES module of node:fs takes long.
const { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } = process.getBuiltinModule("node:fs");
/** Suffixes of the files that SQLite may create beside a database. */
export const SIDE_FILE_SUFFIXES = ["-wal", "-shm", "-journal"];
/** A name in the same folder for an unfinished file. */
export function buildTemporaryName(file) {
    return `${file}.new-${process.pid}-${randomHex(4)}`;
}
/** Creates an empty file that only its owner may read; fails if it exists. */
export function createPrivateFile(file) {
    closeSync(openSync(file, "wx", 0o600));
}
/** Gives a finished file its name, durably. Without `overwrite`, an existing file stays, and this fails. */
export function moveIntoPlace(unfinished, file, overwrite) {
    syncFile(unfinished);
    if (overwrite)
        renameSync(unfinished, file);
    else {
        try {
            linkSync(unfinished, file);
            rmSync(unfinished);
        }
        catch (error) {
            const { code } = error;
            if (code === "EEXIST")
                throw createFileExistsError(file);
            if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP")
                throw error;
            // A file system without hard links: the check and the rename are two steps there.
            if (hasFile(file))
                throw createFileExistsError(file);
            renameSync(unfinished, file);
        }
    }
    syncParentFolder(file);
}
export function removeDatabaseFiles(file) {
    for (const suffix of ["", ...SIDE_FILE_SUFFIXES])
        rmSync(file + suffix, { force: true });
}
export function syncFile(file) {
    const handle = openSync(file, "r+");
    try {
        fsyncSync(handle);
    }
    finally {
        closeSync(handle);
    }
}
/** A new name is durable when its folder is synced. */
export function syncParentFolder(file) {
    let handle;
    try {
        handle = openSync(dirname(file), "r");
    }
    catch {
        return; // not every system can open folders
    }
    try {
        fsyncSync(handle);
    }
    catch {
        // not every system can sync folders
    }
    finally {
        closeSync(handle);
    }
}
export function hasFile(file) {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
}
/** Whether two paths lead to one file. */
export function isSameFile(first, second) {
    const [a, b] = [first, second].map((file) => statSync(file, { throwIfNoEntry: false }));
    return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}
export function createFileExistsError(file) {
    return new PostriderError("file_exists", `${basename(file)} exists already. Nothing was overwritten.`, {
        details: { file },
    });
}
