import { statSync } from "node:fs";
import { basename } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../../core/errors.ts";
import { createIncompleteCopyError } from "../../copy/copy-errors.ts";
import { APPLICATION_ID, MIGRATIONS, UNFINISHED_COPY_ID } from "../schema.ts";
import { retryBusy, toStoreError } from "../store-errors.ts";

/** The amount of data in a database. */
export interface DatabaseContents {
  readonly sessions: number;
  readonly messages: number;
  readonly schema: number;
}

/**
 * Opens a file for reading. Refuses a file that is not a database, not one of Postrider, or newer than this Postrider;
 * the message says which.
 */
export function openPostriderDatabase(file: string): Database.Database {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined)
    throw new PostriderError("not_found", `There is no file ${file}.`, { details: { file } });
  if (!found.isFile()) throw createDamageError(file, "is not a file, so it is not a database");
  if (found.size === 0) throw createDamageError(file, "is empty, so it is not a database");
  let raw: Database.Database | undefined;
  try {
    raw = new Database(file, { readonly: true, fileMustExist: true, timeout: 0 });
    const db = raw;
    db.pragma("temp_store = MEMORY");
    const readPragma = (name: string): number => Number(retryBusy(() => db.pragma(name, { simple: true })));
    const application = readPragma("application_id");
    if (application === UNFINISHED_COPY_ID) throw createIncompleteCopyError(file);
    if (application !== APPLICATION_ID)
      throw createDamageError(file, "is a database, but not one of Postrider");
    const schema = readPragma("user_version");
    if (schema > MIGRATIONS.length) {
      throw new PostriderError(
        "newer_schema",
        `${basename(file)} was written by a newer Postrider (schema ${schema}; this one supports ${MIGRATIONS.length}). Update Postrider; nothing was changed.`,
        { details: { file, found: schema, newest: MIGRATIONS.length } },
      );
    }
    if (schema < 1) throw createDamageError(file, "has no schema");
    return db;
  } catch (error) {
    raw?.close();
    throw toDamageError(error, file);
  }
}

export function countContents(db: Database.Database): DatabaseContents {
  const count = (table: string): number =>
    db.prepare(`select count(*) from ${table}`).pluck().get() as number;
  return {
    sessions: count("sessions"),
    messages: count("messages"),
    schema: Number(db.pragma("user_version", { simple: true })),
  };
}

/** Checks every page and index of a file without writers. Throws `corrupt` with SQLite's first complaint. */
export function assertIntact(db: Database.Database, file: string): void {
  let verdict: unknown;
  try {
    verdict = db.pragma("integrity_check(1)", { simple: true });
  } catch (error) {
    throw toDamageError(error, file);
  }
  if (verdict !== "ok")
    throw createDamageError(file, `is damaged (${String(verdict).replaceAll("\n", " ").slice(0, 200)})`);
}

function toDamageError(error: unknown, file: string): PostriderError {
  const known = toStoreError(error, file);
  return known.code === "corrupt" && !(error instanceof PostriderError)
    ? createDamageError(file, "is damaged or not a database")
    : known;
}

export function createDamageError(file: string, problem: string): PostriderError {
  return new PostriderError("corrupt", `${basename(file)} ${problem}. It was left as it is.`, {
    details: { file },
  });
}
