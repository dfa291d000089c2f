import { basename, dirname } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import { randomHex } from "../random-hex.ts";

// Asked for, not imported: every writer loads this file, and to make an ES module of node:fs takes long.
const { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } =
  process.getBuiltinModule("node:fs");

/** What SQLite may put beside a database file. */
export const SIDE_FILE_SUFFIXES = ["-wal", "-shm", "-journal"] as const;

/** A name in the same folder for a file that is not whole yet. */
export function buildTemporaryName(file: string): string {
  return `${file}.new-${process.pid}-${randomHex(4)}`;
}

/** An empty file that only its owner may read; fails if there is one. */
export function createPrivateFile(file: string): void {
  closeSync(openSync(file, "wx", 0o600));
}

/** A whole file gets its name, durably. Without `overwrite` a file that has it already stays, and this fails. */
export function moveIntoPlace(unfinished: string, file: string, overwrite: boolean): void {
  syncFile(unfinished);
  if (overwrite) renameSync(unfinished, file);
  else {
    try {
      linkSync(unfinished, file);
      rmSync(unfinished);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EEXIST") throw createFileExistsError(file);
      if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP") throw error;
      // A file system without hard links: looking and renaming are two steps there.
      if (hasFile(file)) throw createFileExistsError(file);
      renameSync(unfinished, file);
    }
  }
  syncParentFolder(file);
}

export function removeDatabaseFiles(file: string): void {
  for (const suffix of ["", ...SIDE_FILE_SUFFIXES]) rmSync(file + suffix, { force: true });
}

export function syncFile(file: string): void {
  const handle = openSync(file, "r+");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** A new name is durable when its folder is. */
export function syncParentFolder(file: string): void {
  let handle: number;
  try {
    handle = openSync(dirname(file), "r");
  } catch {
    return; // not every system opens folders
  }
  try {
    fsyncSync(handle);
  } catch {
    // nor syncs them
  } finally {
    closeSync(handle);
  }
}

export function hasFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** Whether two names lead to one file. */
export function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => statSync(file, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}

export function createFileExistsError(file: string): PostriderError {
  return new PostriderError("file_exists", `${basename(file)} is there already. Nothing was overwritten.`, {
    details: { file },
  });
}
