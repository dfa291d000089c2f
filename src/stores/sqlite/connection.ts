import { basename, dirname } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../core/errors.ts";
import { createIncompleteCopyError, createOtherVersionError } from "../copy/copy-errors.ts";
import { type Db, getSql, type Statement } from "../sql/db.ts";
import { randomHex } from "../sql/random-hex.ts";
import { sqliteDialect } from "./dialect.ts";
import { APPLICATION_ID, MIGRATIONS, UNFINISHED_COPY_ID } from "./schema.ts";
import { sqliteIndex } from "./search-index.ts";
import { retryBusy, toStoreError } from "./store-errors.ts";

// Not an import: creating an ES module of node:fs takes longer than opening the database.
const {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} = process.getBuiltinModule("node:fs");

/** A connection to a SQLite file, with every statement prepared once. */
export interface SqliteDb extends Db {
  /** Rows as arrays, one at a time: for a scan of a whole table without holding it in memory. */
  each(sql: string, ...values: readonly unknown[]): Iterable<unknown[]>;
  /** Rows as arrays with whole numbers as `bigint`: a column has 64 bits. */
  exactRows(sql: string, ...values: readonly unknown[]): unknown[][];
  exec(sql: string): void;
  pragma(text: string): unknown;
  readonly inTransaction: boolean;
  readonly file: string;
  close(): void;
}

export interface WriterOptions {
  readonly file: string;
  /** The maximum size of the database file; a larger write is refused with `disk_full`. */
  readonly maxBytes?: number;
  /** Opens an unfinished copy, too. Only for the copy itself. */
  readonly allowCopy?: boolean;
}

/** Opens the database for writing; creates or migrates it first. There is one writer per store. */
export function openWriter({ file, maxBytes, allowCopy = false }: WriterOptions): SqliteDb {
  try {
    if (!existsSync(file)) createDatabase(file);
    else if (statSync(file).size === 0) throw createEmptyFileError(file);
    const db = openConnection(file, "write", allowCopy);
    try {
      if (isUnfinishedCopy(db)) assertCurrent(db);
      else migrate(db, MIGRATIONS);
      if (maxBytes !== undefined) {
        const pageSize = Number(db.pragma("page_size"));
        db.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
      }
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    throw toStoreError(error, file);
  }
}

/** A second, read-only connection, for reads that must not wait for the writer. */
export function openReader(file: string): SqliteDb {
  try {
    return openConnection(file, "read");
  } catch (error) {
    throw toStoreError(error, file);
  }
}

/**
 * A connection for a reader that may never write; `undefined` if `openWriter` must first create, migrate or diagnose the
 * database. SQLite itself may write through it, so that the last connection to close can remove the log.
 */
export function openIfCurrent(file: string): SqliteDb | undefined {
  let db: SqliteDb | undefined;
  try {
    if (!existsSync(file) || statSync(file).size === 0) return undefined;
    accessSync(file, constants.R_OK | constants.W_OK);
    db = openConnection(file, "query");
    // Reads the whole schema, like the first query: damage shows here.
    db.get("select 1 from sqlite_schema limit 1");
    if (Number(db.pragma("user_version")) === MIGRATIONS.length) return db;
  } catch {
    // The writer gets the same error and reports it.
  }
  db?.close();
  return undefined;
}

const MAPPED_BYTES = 256 * 1024 * 1024;

function openConnection(
  file: string,
  use: "read" | "query" | "write" | "create",
  allowCopy = false,
): SqliteDb {
  const raw = new Database(file, { readonly: use === "read", fileMustExist: true, timeout: 0 });
  const db = wrapDatabase(raw, file);
  try {
    retryBusy(() => {
      db.pragma("foreign_keys = ON");
      db.pragma("temp_store = MEMORY");
      if (use === "read") return;
      if (use === "create") db.pragma(`application_id = ${APPLICATION_ID}`);
      // Checked first: setting the journal mode writes to the file.
      if (!(allowCopy && isUnfinishedCopy(db))) assertPostriderDatabase(db);
      if (use === "query") {
        db.pragma("query_only = ON");
        // A list over all rows is a third faster from the system's page cache than through copies of its pages.
        db.pragma(`mmap_size = ${MAPPED_BYTES}`);
        return;
      }
      db.pragma("journal_mode = WAL");
      db.pragma("synchronous = FULL");
      db.pragma("wal_autocheckpoint = 4000");
      // Deleted content is overwritten, not only unlinked.
      db.pragma("secure_delete = ON");
    });
    return db;
  } catch (error) {
    raw.close();
    throw error;
  }
}

function wrapDatabase(raw: Database.Database, file: string): SqliteDb {
  const prepared = new Map<Statement, Database.Statement>();
  const prepare = (statement: Statement): Database.Statement => {
    let found = prepared.get(statement);
    if (found === undefined) {
      found = raw.prepare(getSql(statement, sqliteDialect));
      prepared.set(statement, found);
    }
    return found;
  };
  const arrays = new Map<Statement, Database.Statement>();
  const exact = new Map<string, Database.Statement>();
  return {
    get: <Row>(statement: Statement, ...values: readonly unknown[]) =>
      prepare(statement).get(...values) as Row | undefined,
    all: <Row>(statement: Statement, ...values: readonly unknown[]) =>
      prepare(statement).all(...values) as Row[],
    rows: (statement, ...values) => {
      let found = arrays.get(statement);
      if (found === undefined) {
        found = raw.prepare(getSql(statement, sqliteDialect)).raw();
        arrays.set(statement, found);
      }
      return found.all(...values) as unknown[][];
    },
    each: (sql, ...values) =>
      raw
        .prepare(sql)
        .raw()
        .iterate(...values) as Iterable<unknown[]>,
    exactRows: (sql, ...values) => {
      let found = exact.get(sql);
      if (found === undefined) {
        found = raw.prepare(sql).raw().safeIntegers();
        exact.set(sql, found);
      }
      return found.all(...values) as unknown[][];
    },
    run: (statement, ...values) => prepare(statement).run(...values).changes,
    insert: (statement, ...values) => Number(prepare(statement).run(...values).lastInsertRowid),
    send: (statement, ...values) => {
      prepare(statement).run(...values);
    },
    widenScope: () => {}, // there is one writer
    store: raw,
    dialect: sqliteDialect,
    index: sqliteIndex,
    exec: (sql) => {
      raw.exec(sql);
    },
    pragma: (text) => raw.pragma(text, { simple: true }),
    get inTransaction() {
      return raw.inTransaction;
    },
    now: (machineNow) => machineNow,
    file,
    close: () => raw.close(),
  };
}

/**
 * A new database is built under another name and linked into place when it is complete. So an empty file is always a
 * broken one, and two processes that start at once get the same database.
 */
function createDatabase(file: string): void {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  // Checked again: another process may have created the database and its log in between.
  if (log !== undefined && log.size > 0 && !existsSync(file)) {
    throw new PostriderError(
      "corrupt",
      `${basename(file)} is missing, but its write-ahead log exists. Restore the database file beside it, or move the log away to start with a new database.`,
      { details: { file } },
    );
  }
  const building = `${file}.new-${process.pid}-${randomHex(4)}`;
  try {
    closeSync(openSync(building, "wx", 0o600));
    const db = openConnection(building, "create");
    migrate(db, MIGRATIONS);
    db.close();
    try {
      linkSync(building, file);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "EEXIST") return;
      // A file system without hard links: the copy is not atomic, but never overwrites.
      if (code === "EPERM" || code === "ENOTSUP" || code === "EOPNOTSUPP") {
        copyFileSync(building, file, constants.COPYFILE_EXCL);
      } else throw error;
    }
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(building + suffix, { force: true });
  }
}

function assertPostriderDatabase(db: SqliteDb): void {
  if (Number(db.pragma("application_id")) === APPLICATION_ID) return;
  if (isUnfinishedCopy(db)) throw createIncompleteCopyError(db.file);
  throw new PostriderError(
    "corrupt",
    `${basename(db.file)} is a database, but not one of Postrider. Choose another file; this one was not changed.`,
    { details: { file: db.file } },
  );
}

function isUnfinishedCopy(db: SqliteDb): boolean {
  return Number(db.pragma("application_id")) === UNFINISHED_COPY_ID;
}

function assertCurrent(db: SqliteDb): void {
  if (Number(db.pragma("user_version")) !== MIGRATIONS.length) throw createOtherVersionError(db.file);
}

/** Migrates the schema to the newest version in one transaction, after a backup copy. */
export function migrate(db: SqliteDb, migrations: readonly string[]): void {
  const readVersion = (): number => Number(retryBusy(() => db.pragma("user_version")));
  const newest = migrations.length;
  const found = readVersion();
  if (found > newest) {
    throw new PostriderError(
      "newer_schema",
      `${basename(db.file)} was written by a newer Postrider (schema ${found}; this one supports ${newest}). Update Postrider; nothing was changed.`,
      { details: { file: db.file, found, newest } },
    );
  }
  if (found === newest) return;
  if (found > 0) backUp(db, found);
  retryBusy(() => db.exec("begin immediate"));
  try {
    // Read again: another process may have migrated it in between.
    const from = readVersion();
    for (const migration of migrations.slice(from)) db.exec(migration);
    if (from < newest) db.pragma(`user_version = ${newest}`);
    db.exec("commit");
  } catch (error) {
    if (db.inTransaction) db.exec("rollback");
    throw error;
  }
}

function backUp(db: SqliteDb, version: number): void {
  const copy = `${db.file}.schema-${version}.bak`;
  if (existsSync(copy)) return;
  const temporary = `${copy}.new-${process.pid}-${randomHex(4)}`;
  try {
    // Created first, for its mode: the copy is as private as the original. It gets its name when it is complete.
    closeSync(openSync(temporary, "wx", 0o600));
    db.run("vacuum into ?", temporary);
    renameSync(temporary, copy);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function createEmptyFileError(file: string): PostriderError {
  return new PostriderError(
    "corrupt",
    `${basename(file)} is empty, so it is not a database. Restore it from a backup, or remove it from ${dirname(file)} to start with a new database.`,
    { details: { file } },
  );
}
