import Database from "better-sqlite3";
import { pause } from "../../../system/pause.ts";
import { openWriter } from "../connection.ts";
import { retryBusyAsync, toStoreError } from "../store-errors.ts";
import { rebuildIndex } from "./repair-database.ts";

/**
 * Rebuilds the index, rewrites every page and truncates the log. Overwriting deleted content is not enough: old bytes stay
 * between rows that SQLite moves, and the index keeps some words to find its pages. False while others use the log.
 */
export async function scrubDatabase(file: string): Promise<boolean> {
  try {
    const writer = openWriter({ file });
    try {
      rebuildIndex(writer);
    } finally {
      writer.close();
    }
    const db = new Database(file, { fileMustExist: true, timeout: 0 });
    try {
      db.pragma("secure_delete = ON");
      db.pragma("synchronous = FULL");
      await retryBusyAsync(() => db.exec("vacuum"));
      return await truncateLog(db);
    } finally {
      db.close();
    }
  } catch (error) {
    throw toStoreError(error, file);
  }
}

const TRUNCATE_TIMEOUT_MS = 15_000;

async function truncateLog(db: Database.Database): Promise<boolean> {
  const deadline = performance.now() + TRUNCATE_TIMEOUT_MS;
  for (;;) {
    const [result] = db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    if (result?.busy === 0) return true;
    if (performance.now() > deadline) return false;
    await pause(5);
  }
}
