import { readFileSync } from "node:fs";
import Database from "better-sqlite3";

/** Reads a database file with plain SQL, without the library. */
export function look<T>(file: string, read: (db: Database.Database) => T): T {
  const db = new Database(file, { readonly: true, fileMustExist: true, timeout: 5000 });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

/** The texts of all messages, ordered by session and seq. */
export function textsIn(file: string): string[] {
  return look(file, (db) => db.prepare("select text from messages order by id").pluck().all() as string[]);
}

/** Resolves when the index has caught up with the messages. */
export async function indexed(file: string): Promise<void> {
  const db = new Database(file, { readonly: true, fileMustExist: true, timeout: 5000 });
  const waiting = db.prepare("select 1 from sessions where indexed_seq < next_seq - 1 limit 1");
  try {
    // Another thread fills the index without a notification, so this polls.
    while (waiting.get() !== undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  } finally {
    db.close();
  }
}

const WAL_HEADER = 32;
const FRAME_HEADER = 24;

/** The number of transactions in the write-ahead log: a commit frame contains the size of the database. */
export function commitsInLog(file: string): number {
  const log = readFileSync(`${file}-wal`);
  if (log.length < WAL_HEADER) return 0;
  const frame = FRAME_HEADER + log.readUInt32BE(8);
  const salts = log.subarray(16, 24);
  let commits = 0;
  for (let at = WAL_HEADER; at + frame <= log.length; at += frame) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    if (log.readUInt32BE(at + 4) > 0) commits += 1;
  }
  return commits;
}
