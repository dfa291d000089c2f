import { statSync } from "node:fs";
import { basename } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../../core/errors.ts";
import { retryBusy, storeError } from "../failure.ts";
import { APPLICATION_ID, MIGRATIONS } from "../schema.ts";

/** How much a database holds. */
export interface Contents {
  readonly sessions: number;
  readonly messages: number;
  readonly schema: number;
}

/**
 * Opens a file to look at it, without writing. Refuses what is not a database, not Postrider's, or newer than this
 * Postrider; the sentence says which.
 */
export function openOurs(file: string): Database.Database {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined)
    throw new PostriderError("not_found", `There is no file ${file}.`, { details: { file } });
  if (!found.isFile()) throw broken(file, "is not a file, so it is no database");
  if (found.size === 0) throw broken(file, "is empty, so it is not a database");
  let raw: Database.Database | undefined;
  try {
    raw = new Database(file, { readonly: true, fileMustExist: true, timeout: 0 });
    const db = raw;
    db.pragma("temp_store = MEMORY");
    const value = (name: string): number => Number(retryBusy(() => db.pragma(name, { simple: true })));
    if (value("application_id") !== APPLICATION_ID) throw broken(file, "is a database, but not Postrider's");
    const schema = value("user_version");
    if (schema > MIGRATIONS.length) {
      throw new PostriderError(
        "newer_schema",
        `${basename(file)} was written by a newer Postrider (schema ${schema}; this one knows ${MIGRATIONS.length}). Update Postrider; nothing was changed.`,
        { details: { file, found: schema, newest: MIGRATIONS.length } },
      );
    }
    if (schema < 1) throw broken(file, "has no schema");
    return db;
  } catch (error) {
    raw?.close();
    throw explained(error, file);
  }
}

export function contentsOf(db: Database.Database): Contents {
  const count = (table: string): number =>
    db.prepare(`select count(*) from ${table}`).pluck().get() as number;
  return {
    sessions: count("sessions"),
    messages: count("messages"),
    schema: Number(db.pragma("user_version", { simple: true })),
  };
}

/** Every page and every index of a file that nobody writes. Throws `corrupt` with SQLite's first complaint. */
export function assertWhole(db: Database.Database, file: string): void {
  let verdict: unknown;
  try {
    verdict = db.pragma("integrity_check(1)", { simple: true });
  } catch (error) {
    throw explained(error, file);
  }
  if (verdict !== "ok")
    throw broken(file, `is damaged (${String(verdict).replaceAll("\n", " ").slice(0, 200)})`);
}

function explained(error: unknown, file: string): PostriderError {
  const known = storeError(error, file);
  return known.code === "corrupt" && !(error instanceof PostriderError)
    ? broken(file, "is damaged or not a database")
    : known;
}

export function broken(file: string, what: string): PostriderError {
  return new PostriderError("corrupt", `${basename(file)} ${what}. It was left as it is.`, {
    details: { file },
  });
}
