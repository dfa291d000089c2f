import { basename, dirname } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../core/errors.ts";
import { randomHex } from "./random-hex.ts";
import { APPLICATION_ID, MIGRATIONS } from "./schema.ts";
import { retryBusy, toStoreError } from "./store-errors.ts";

// Asked for, not imported: to make an ES module of node:fs takes longer than to open the database.
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

/** What this store uses of better-sqlite3, with every statement prepared once. */
export interface Db {
  get<Row>(sql: string, ...values: readonly unknown[]): Row | undefined;
  all<Row>(sql: string, ...values: readonly unknown[]): Row[];
  /** Rows as arrays, for long histories. */
  rows(sql: string, ...values: readonly unknown[]): unknown[][];
  /** The same, one at a time: for looking at everything without holding everything. */
  each(sql: string, ...values: readonly unknown[]): Iterable<unknown[]>;
  run(
    sql: string,
    ...values: readonly unknown[]
  ): { readonly changes: number; readonly lastInsertRowid: number };
  exec(sql: string): void;
  pragma(text: string): unknown;
  readonly inTransaction: boolean;
  readonly file: string;
  close(): void;
}

export interface WriterOptions {
  readonly file: string;
  /** The database file may not grow beyond this; a write that would is refused with `disk_full`. */
  readonly maxBytes?: number;
}

/** Opens the database to write, creating or migrating it first. There is one writer per store. */
export function openWriter({ file, maxBytes }: WriterOptions): Db {
  try {
    if (!existsSync(file)) createDatabase(file);
    else if (statSync(file).size === 0) throw createEmptyFileError(file);
    const db = openConnection(file, "write");
    try {
      migrate(db, MIGRATIONS);
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

/** A second connection that cannot write, for reads that must not wait for the writer. */
export function openReader(file: string): Db {
  try {
    return openConnection(file, "read");
  } catch (error) {
    throw toStoreError(error, file);
  }
}

/**
 * A connection for someone who wants to read and perhaps never writes; undefined when the database must first be made,
 * migrated or explained by `openWriter`. It may write as far as SQLite itself needs to, so that the last one to leave
 * puts the log away.
 */
export function openIfCurrent(file: string): Db | undefined {
  let db: Db | undefined;
  try {
    if (!existsSync(file) || statSync(file).size === 0) return undefined;
    accessSync(file, constants.R_OK | constants.W_OK);
    db = openConnection(file, "look");
    // Reads the whole schema, as the first question would: a damaged one is met here.
    db.get("select 1 from sqlite_schema limit 1");
    if (Number(db.pragma("user_version")) === MIGRATIONS.length) return db;
  } catch {
    // The writer meets the same and says what it is.
  }
  db?.close();
  return undefined;
}

const MAPPED_BYTES = 256 * 1024 * 1024;

function openConnection(file: string, use: "read" | "look" | "write" | "create"): Db {
  const raw = new Database(file, { readonly: use === "read", fileMustExist: true, timeout: 0 });
  const db = wrapDatabase(raw, file);
  try {
    retryBusy(() => {
      db.pragma("foreign_keys = ON");
      db.pragma("temp_store = MEMORY");
      if (use === "read") return;
      if (use === "create") db.pragma(`application_id = ${APPLICATION_ID}`);
      // Looked at first: to set the journal mode is to write into the file.
      assertPostriderDatabase(db);
      if (use === "look") {
        db.pragma("query_only = ON");
        // A list over everything is read from the system's own cache, a third faster than through copies of its pages.
        db.pragma(`mmap_size = ${MAPPED_BYTES}`);
        return;
      }
      db.pragma("journal_mode = WAL");
      db.pragma("synchronous = FULL");
      db.pragma("wal_autocheckpoint = 4000");
      // What was removed is overwritten, not just unlinked.
      db.pragma("secure_delete = ON");
    });
    return db;
  } catch (error) {
    raw.close();
    throw error;
  }
}

function wrapDatabase(raw: Database.Database, file: string): Db {
  const prepared = new Map<string, Database.Statement>();
  const statement = (sql: string): Database.Statement => {
    let found = prepared.get(sql);
    if (found === undefined) {
      found = raw.prepare(sql);
      prepared.set(sql, found);
    }
    return found;
  };
  const arrays = new Map<string, Database.Statement>();
  return {
    get: <Row>(sql: string, ...values: readonly unknown[]) =>
      statement(sql).get(...values) as Row | undefined,
    all: <Row>(sql: string, ...values: readonly unknown[]) => statement(sql).all(...values) as Row[],
    rows: (sql, ...values) => {
      let found = arrays.get(sql);
      if (found === undefined) {
        found = raw.prepare(sql).raw();
        arrays.set(sql, found);
      }
      return found.all(...values) as unknown[][];
    },
    each: (sql, ...values) =>
      raw
        .prepare(sql)
        .raw()
        .iterate(...values) as Iterable<unknown[]>,
    run: (sql, ...values) => {
      const { changes, lastInsertRowid } = statement(sql).run(...values);
      return { changes, lastInsertRowid: Number(lastInsertRowid) };
    },
    exec: (sql) => {
      raw.exec(sql);
    },
    pragma: (text) => raw.pragma(text, { simple: true }),
    get inTransaction() {
      return raw.inTransaction;
    },
    file,
    close: () => raw.close(),
  };
}

/**
 * A new database is built under another name and linked into place whole. So an empty file is never ours: it is
 * a broken one, and two processes that start at once get the same database.
 */
function createDatabase(file: string): void {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  // Looked at again: between the two looks another process may have made the database and begun its log.
  if (log !== undefined && log.size > 0 && !existsSync(file)) {
    throw new PostriderError(
      "corrupt",
      `${basename(file)} is missing but its write-ahead log is there. Put the database file back beside it, or move the log away to start afresh.`,
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
      // A file system without hard links: not atomic, but it never overwrites.
      if (code === "EPERM" || code === "ENOTSUP" || code === "EOPNOTSUPP") {
        copyFileSync(building, file, constants.COPYFILE_EXCL);
      } else throw error;
    }
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(building + suffix, { force: true });
  }
}

function assertPostriderDatabase(db: Db): void {
  if (Number(db.pragma("application_id")) === APPLICATION_ID) return;
  throw new PostriderError(
    "corrupt",
    `${basename(db.file)} is a database, but not Postrider's. Name another file; this one was not touched.`,
    { details: { file: db.file } },
  );
}

/** Brings the schema to the newest version in one transaction, after a copy of what was there. */
export function migrate(db: Db, migrations: readonly string[]): void {
  const version = (): number => Number(retryBusy(() => db.pragma("user_version")));
  const newest = migrations.length;
  const found = version();
  if (found > newest) {
    throw new PostriderError(
      "newer_schema",
      `${basename(db.file)} was written by a newer Postrider (schema ${found}; this one knows ${newest}). Update Postrider; nothing was changed.`,
      { details: { file: db.file, found, newest } },
    );
  }
  if (found === newest) return;
  if (found > 0) backUp(db, found);
  retryBusy(() => db.exec("begin immediate"));
  try {
    // Read again: another process may have been quicker, and newer.
    const from = version();
    for (const migration of migrations.slice(from)) db.exec(migration);
    if (from < newest) db.pragma(`user_version = ${newest}`);
    db.exec("commit");
  } catch (error) {
    if (db.inTransaction) db.exec("rollback");
    throw error;
  }
}

function backUp(db: Db, version: number): void {
  const copy = `${db.file}.schema-${version}.bak`;
  if (existsSync(copy)) return;
  const writing = `${copy}.new-${process.pid}-${randomHex(4)}`;
  try {
    // Made first, for its mode: a copy is as private as the original. It gets its name when it is whole.
    closeSync(openSync(writing, "wx", 0o600));
    db.run("vacuum into ?", writing);
    renameSync(writing, copy);
  } finally {
    rmSync(writing, { force: true });
  }
}

function createEmptyFileError(file: string): PostriderError {
  return new PostriderError(
    "corrupt",
    `${basename(file)} is empty, so it is not a database any more. Restore it from a backup, or remove it from ${dirname(file)} to start afresh.`,
    { details: { file } },
  );
}
