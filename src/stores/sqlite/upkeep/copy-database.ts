import { createHash } from "node:crypto";
import { appendFileSync, closeSync, openSync, readSync, statSync } from "node:fs";
import { resolve } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../../core/errors.ts";
import { retryBusyAsync, toStoreError } from "../store-errors.ts";
import {
  buildTemporaryName,
  createFileExistsError,
  createPrivateFile,
  hasFile,
  isSameFile,
  moveIntoPlace,
  removeDatabaseFiles,
} from "./files.ts";
import { assertIntact, countContents, type DatabaseContents, openPostriderDatabase } from "./integrity.ts";

export interface CopyOptions {
  readonly from: string;
  readonly to: string;
  /** Take the place of a file that is there. */
  readonly overwrite?: boolean;
  /** Pages copied so far, of all. */
  readonly onProgress?: (done: number, all: number) => void;
  /** Asked between the steps: whether to give up. */
  readonly isStopped?: () => boolean;
}

export interface CopyResult extends DatabaseContents {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Pages per step: a millisecond or so, after which the loop turns. */
const STEP_PAGES = 250;

/**
 * A copy of one instant, made while others write. It appears under its name only when it is whole, durable and
 * checked; it is one private file that needs nothing beside it.
 */
export async function copyDatabase(copying: CopyOptions): Promise<CopyResult> {
  const from = resolve(copying.from);
  const to = resolve(copying.to);
  if (isSameFile(from, to)) {
    throw new PostriderError("invalid_input", "A copy needs a name of its own, not that of the database.", {
      details: { file: to },
    });
  }
  const { overwrite = false } = copying;
  if (!overwrite && hasFile(to)) throw createFileExistsError(to);
  const writing = buildTemporaryName(to);
  try {
    createPrivateFile(writing);
    const before = await copyPages(from, writing, copying);
    convertToSingleFile(writing);
    const contents = checkCopy(writing, before);
    const { bytes, sha256 } = hashFile(writing);
    moveIntoPlace(writing, to, overwrite);
    return { file: to, bytes, sha256, ...contents };
  } catch (error) {
    throw toCopyError(error, from, to);
  } finally {
    removeDatabaseFiles(writing);
  }
}

/** What was wrong with the original is its own matter; everything else is about the copy. */
function toCopyError(error: unknown, from: string, to: string): PostriderError {
  const known = toStoreError(error, to);
  if (known.code !== "corrupt" || known.details.file === from) return known;
  return new PostriderError(
    "corrupt",
    `The copy failed its check, so ${from} is probably damaged. No copy was kept; see postrider doctor --full.`,
    { cause: error, details: { file: from } },
  );
}

async function copyPages(from: string, writing: string, copying: CopyOptions): Promise<DatabaseContents> {
  const source = openPostriderDatabase(from);
  try {
    // Inside a read transaction the source stands still for this connection, so what others write meanwhile neither
    // enters the copy nor makes it begin again.
    source.exec("begin");
    const contents = await retryBusyAsync(() => countContents(source));
    const progress = ({ totalPages, remainingPages }: Database.BackupMetadata): number => {
      if (copying.isStopped?.()) throw new PostriderError("closed", "The copy was given up.");
      copying.onProgress?.(totalPages - remainingPages, totalPages);
      return STEP_PAGES;
    };
    await source.backup(writing, { progress }).catch((error: unknown) => {
      assertFreeSpace(writing, statSync(from).size);
      throw error;
    });
    source.exec("commit");
    return contents;
  } finally {
    source.close();
  }
}

/** SQLite only says that copying failed. When as many bytes do not fit, the system says why. */
function assertFreeSpace(writing: string, bytes: number): void {
  const chunk = Buffer.alloc(1 << 20);
  for (let left = bytes; left > 0; left -= chunk.length) appendFileSync(writing, chunk);
}

/** A database that expects a log beside it would not be whole when the file alone is carried away. */
function convertToSingleFile(file: string): void {
  const db = new Database(file, { fileMustExist: true, timeout: 0 });
  try {
    db.pragma("journal_mode = DELETE");
  } finally {
    db.close();
  }
}

function checkCopy(file: string, before: DatabaseContents): DatabaseContents {
  const db = openPostriderDatabase(file);
  try {
    assertIntact(db, file);
    const after = countContents(db);
    if (after.sessions === before.sessions && after.messages === before.messages) return after;
    throw new PostriderError("corrupt", "The copy does not hold what the original held.", {
      details: { file },
    });
  } finally {
    db.close();
  }
}

function hashFile(file: string): { bytes: number; sha256: string } {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(1 << 20);
  const handle = openSync(file, "r");
  try {
    for (let read = readSync(handle, chunk); read > 0; read = readSync(handle, chunk))
      hash.update(chunk.subarray(0, read));
  } finally {
    closeSync(handle);
  }
  return { bytes: statSync(file).size, sha256: hash.digest("hex") };
}
