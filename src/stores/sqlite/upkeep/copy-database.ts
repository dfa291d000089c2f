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
  /** Replaces an existing file. */
  readonly overwrite?: boolean;
  /** The number of copied pages, and of all pages. */
  readonly onProgress?: (done: number, all: number) => void;
  /** Called between steps: whether to stop. */
  readonly isStopped?: () => boolean;
}

export interface CopyResult extends DatabaseContents {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Pages per step: about a millisecond, after which the event loop continues. */
const STEP_PAGES = 250;

/**
 * Copies one snapshot while others write. The copy gets its name only when it is complete, durable and checked; it is one
 * private file that needs no other file.
 */
export async function copyDatabase(options: CopyOptions): Promise<CopyResult> {
  const from = resolve(options.from);
  const to = resolve(options.to);
  if (isSameFile(from, to)) {
    throw new PostriderError(
      "invalid_input",
      "The copy has the same name as the database. Choose another name.",
      {
        details: { file: to },
      },
    );
  }
  const { overwrite = false } = options;
  if (!overwrite && hasFile(to)) throw createFileExistsError(to);
  const temporary = buildTemporaryName(to);
  try {
    createPrivateFile(temporary);
    const before = await copyPages(from, temporary, options);
    convertToSingleFile(temporary);
    const contents = checkCopy(temporary, before);
    const { bytes, sha256 } = hashFile(temporary);
    moveIntoPlace(temporary, to, overwrite);
    return { file: to, bytes, sha256, ...contents };
  } catch (error) {
    throw toCopyError(error, from, to);
  } finally {
    removeDatabaseFiles(temporary);
  }
}

/** An error of the original names the original; every other error is about the copy. */
function toCopyError(error: unknown, from: string, to: string): PostriderError {
  const known = toStoreError(error, to);
  if (known.code !== "corrupt" || known.details.file === from) return known;
  return new PostriderError(
    "corrupt",
    `The copy failed its check, so ${from} is probably damaged. No copy was kept; see postrider doctor --full.`,
    { cause: error, details: { file: from } },
  );
}

async function copyPages(from: string, temporary: string, options: CopyOptions): Promise<DatabaseContents> {
  const source = openPostriderDatabase(from);
  try {
    // In a read transaction, the source does not change for this connection: writes of others neither enter the copy nor
    // restart it.
    source.exec("begin");
    const contents = await retryBusyAsync(() => countContents(source));
    const progress = ({ totalPages, remainingPages }: Database.BackupMetadata): number => {
      if (options.isStopped?.()) throw new PostriderError("closed", "The copy was stopped.");
      options.onProgress?.(totalPages - remainingPages, totalPages);
      return STEP_PAGES;
    };
    await source.backup(temporary, { progress }).catch((error: unknown) => {
      assertFreeSpace(temporary, statSync(from).size);
      throw error;
    });
    source.exec("commit");
    return contents;
  } finally {
    source.close();
  }
}

/** SQLite only reports that copying failed. If the disk has no space for as many bytes, the system gives the reason. */
function assertFreeSpace(temporary: string, bytes: number): void {
  const chunk = Buffer.alloc(1 << 20);
  for (let left = bytes; left > 0; left -= chunk.length) appendFileSync(temporary, chunk);
}

/** A database that expects a log beside it would be incomplete if only the file is moved. */
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
    throw new PostriderError("corrupt", "The copy does not have the contents of the original.", {
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
