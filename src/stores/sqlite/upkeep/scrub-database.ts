import Database from "better-sqlite3";
import { pause } from "../../../system/pause.ts";
import { openWriter } from "../connection.ts";
import { retryBusyAsync, toStoreError } from "../store-errors.ts";
import { rebuildIndex } from "./repair-database.ts";

/**
 * Leaves in the files only what the database holds. Overwriting what is removed is not enough for that: when SQLite
 * moves rows from page to page, old bytes may stay between them, and the index keeps a word or two to find its pages
 * by. So the index is made again, every page written anew, and the log emptied. False while others keep the log in use.
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
    const [answer] = db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    if (answer?.busy === 0) return true;
    if (performance.now() > deadline) return false;
    await pause(5);
  }
}
