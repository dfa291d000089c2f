import { linkSync, renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../../core/errors.ts";
import { isOwnPidScope } from "../../../system/process-identity.ts";
import { hasRunnerProcess } from "../../sql/runners.ts";
import { openReader } from "../connection.ts";
import { retryBusyAsync, toStoreError } from "../store-errors.ts";
import { type CopyResult, copyDatabase } from "./copy-database.ts";
import {
  buildTemporaryName,
  hasFile,
  isSameFile,
  moveIntoPlace,
  removeDatabaseFiles,
  syncParentFolder,
} from "./files.ts";
import { openPostriderDatabase } from "./integrity.ts";

export interface ReplaceDatabaseOptions {
  /** The copy to restore. It is only read. */
  readonly from: string;
  readonly database: string;
  /** Keeps an existing database under another name; without this, it is an error. */
  readonly replace: boolean;
  readonly now: number;
  readonly onProgress?: (done: number, all: number) => void;
}

export interface ReplaceDatabaseResult extends Omit<CopyResult, "sha256"> {
  /** The new path of the old database. */
  readonly kept?: string;
}

/**
 * Replaces the database by the copy. The copy is checked before any change, and at any time a complete database has the
 * name: first the old one, then the new one.
 */
export async function replaceDatabase(options: ReplaceDatabaseOptions): Promise<ReplaceDatabaseResult> {
  const { from, database, replace, now } = options;
  const isOccupied = hasFile(database) || hasFile(`${database}-wal`);
  if (isSameFile(from, database)) {
    throw new PostriderError("invalid_input", `${basename(from)} is the database itself.`, {
      details: { file: from },
    });
  }
  if (isOccupied && !replace) {
    throw new PostriderError(
      "file_exists",
      `There is a database already: ${database}. With --replace, it is kept under another name, and the copy replaces it.`,
      { details: { file: database } },
    );
  }
  if (isOccupied) assertUnused(database, now);
  const unfinished = buildTemporaryName(database);
  try {
    const { sha256: _, ...copied } = await copyDatabase({
      from,
      to: unfinished,
      ...(options.onProgress !== undefined && { onProgress: options.onProgress }),
    });
    clearRunners(unfinished);
    const kept = isOccupied ? await keepOldDatabase(database, now) : undefined;
    moveIntoPlace(unfinished, database, isOccupied);
    return { ...copied, file: database, ...(kept !== undefined && { kept }) };
  } catch (error) {
    throw toStoreError(error, database);
  } finally {
    removeDatabaseFiles(unfinished);
  }
}

/** The pids of other processes that use a database. Empty if it is unreadable. */
export function listDatabaseUsers(database: string, now: number): number[] {
  // An open database has this file beside it. Without it, opening the database for a check would create it.
  if (!hasFile(`${database}-shm`)) return [];
  try {
    const db = openReader(database);
    try {
      return (
        db
          .all<{ id: string; boot: string; pid: number }>("select id, boot, pid from runners order by pid")
          // A process in another container may have the pid of this one.
          .filter(({ boot, pid }) => pid !== process.pid || !isOwnPidScope(boot))
          .filter(({ id }) => hasRunnerProcess(db, id, now))
          .map(({ pid }) => pid)
      );
    } finally {
      db.close();
    }
  } catch {
    return [];
  }
}

function assertUnused(database: string, now: number): void {
  const pids = listDatabaseUsers(database, now);
  if (pids.length > 0) throw createInUseError(database, pids);
}

function createInUseError(database: string, pids: readonly number[]): PostriderError {
  const user = pids.length === 0 ? "Another process" : `Another Postrider (process ${pids.join(", ")})`;
  return new PostriderError(
    "in_use",
    `${user} uses ${database}. End it and try again; nothing was changed.`,
    {
      details: { file: database, pids: [...pids] },
    },
  );
}

/** The runners of the copy do not run here: the next process recovers their work. */
function clearRunners(file: string): void {
  const db = new Database(file, { fileMustExist: true, timeout: 0 });
  try {
    db.exec("begin; delete from runners; update leases set runner = null, until = 0; commit");
  } finally {
    db.close();
  }
}

/** Gives the old database a second name. Returns that name. */
async function keepOldDatabase(database: string, now: number): Promise<string> {
  const isOneFile = await mergeLog(database);
  for (let number = 1; ; number += 1) {
    const kept = `${database}.replaced-${formatFileTimestamp(now)}${number === 1 ? "" : `-${number}`}`;
    if (hasFile(kept) || hasFile(`${kept}-wal`)) continue;
    if (hasFile(database)) {
      try {
        linkSync(database, kept);
      } catch {
        renameSync(database, kept); // a file system without hard links
      }
    }
    if (!isOneFile && hasFile(`${database}-wal`)) renameSync(`${database}-wal`, `${kept}-wal`);
    rmSync(`${database}-shm`, { force: true });
    syncParentFolder(database);
    return kept;
  }
}

/**
 * Merges the log into the file. SQLite allows that only to the only connection, so it also shows that no other process
 * has the database open. A damaged database stays unchanged and keeps its log: false.
 */
async function mergeLog(database: string): Promise<boolean> {
  if (!hasFile(database)) return false;
  let db: Database.Database | undefined;
  try {
    // Checked first: SQLite deletes the log of a file that is not a database.
    openPostriderDatabase(database).close();
    const raw = new Database(database, { fileMustExist: true, timeout: 0 });
    db = raw;
    await retryBusyAsync(() => raw.pragma("journal_mode = DELETE"), WAIT_FOR_OTHERS_MS);
    return true;
  } catch (error) {
    const known = toStoreError(error, database);
    if (known.code === "busy") throw createInUseError(database, []);
    if (known.code === "corrupt" || known.code === "newer_schema") return false;
    throw known;
  } finally {
    db?.close();
  }
}

/** A short command may end by itself. */
const WAIT_FOR_OTHERS_MS = 2000;

/** `20260315T092437Z`: sorts by time, and is a file name everywhere. */
export function formatFileTimestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}
