import { resolve } from "node:path";
import type { CopiedTable } from "../../copy/copied-tables.ts";
import type { CopyRow, CopyState, CopyTarget } from "../../copy/copy-end.ts";
import { createRefusedRowError, createTakenOverCopyError } from "../../copy/copy-errors.ts";
import { randomHex } from "../../sql/random-hex.ts";
import { indexMessages } from "../../sql/search.ts";
import { openWriter, type SqliteDb } from "../connection.ts";
import { APPLICATION_ID, UNFINISHED_COPY_ID } from "../schema.ts";
import { toStoreError } from "../store-errors.ts";
import { createSqliteRows, quote } from "./copy-rows.ts";
import { runInTransaction } from "./repair-database.ts";

const INDEX_CHUNK = 2048;

const createStateSql = "create table if not exists store_copy (run text not null, state text not null)";
const hasStateSql = "select 1 from sqlite_schema where type = 'table' and name = 'store_copy'";
const readStateSql = "select state from store_copy";
const clearStateSql = "delete from store_copy";
const insertStateSql = "insert into store_copy (run, state) values (?, ?)";
const updateStateSql = "update store_copy set state = ? where run = ?";
const takeOverSql = "update store_copy set run = ?";
const pendingSql = "select 1 from sessions where indexed_seq < next_seq - 1 limit 1";
const updateSequenceSql = "update sqlite_sequence set seq = max(seq, ?) where name = ?";
const insertSequenceSql = "insert into sqlite_sequence (name, seq) values (?, ?)";
const clearWordsSql = "insert into words(words) values ('delete-all')";

/** Opens a database to copy into it; creates it if it does not exist. Nothing is changed before `begin`. */
export function openSqliteTarget(path: string): CopyTarget {
  const file = resolve(path);
  const db = openWriter({ file, allowCopy: true });
  const rows = createSqliteRows(db);
  const run = randomHex(8);
  const write = async <T>(work: () => T): Promise<T> => {
    try {
      return runInTransaction(db, work);
    } catch (error) {
      throw toStoreError(error, file);
    }
  };
  const saveState = (state: CopyState): void => {
    if (db.run(updateStateSql, JSON.stringify(state), run) === 0) throw createTakenOverCopyError(rows.name);
  };
  return {
    ...rows,
    async readState() {
      if (db.get(hasStateSql) === undefined) return undefined;
      const stored = db.get<{ state: string }>(readStateSql);
      return stored && (JSON.parse(stored.state) as CopyState);
    },
    begin: (state, emptied) =>
      write(() => {
        db.pragma(`application_id = ${UNFINISHED_COPY_ID}`);
        for (const { name } of emptied.toReversed()) db.exec(`delete from ${quote(name)}`);
        db.exec(clearWordsSql);
        db.exec(createStateSql);
        db.exec(clearStateSql);
        db.run(insertStateSql, run, JSON.stringify(state));
      }),
    takeOver: () => write(() => void db.run(takeOverSql, run)),
    writeRows: (table, columns, batch, state) =>
      write(() => {
        insertRows(db, table, columns, batch);
        saveState(state);
      }),
    writeSequence: (table, last) =>
      write(() => {
        if (last === 0n) return;
        if (db.run(updateSequenceSql, last, table.name) === 0) db.run(insertSequenceSql, table.name, last);
      }),
    indexMessages: () =>
      write(() => {
        const added = indexMessages(db, INDEX_CHUNK);
        return { added, isComplete: db.get(pendingSql) === undefined };
      }),
    finish: (state) =>
      write(() => {
        saveState(state);
        db.pragma(`application_id = ${APPLICATION_ID}`);
      }),
    async close() {
      db.close();
    },
  };
}

function insertRows(
  db: SqliteDb,
  table: CopiedTable,
  columns: readonly string[],
  rows: readonly CopyRow[],
): void {
  const places = columns.map(() => "?").join(", ");
  const sql = `insert into ${quote(table.name)} (${columns.map(quote).join(", ")}) values (${places})`;
  try {
    for (const row of rows) db.run(sql, ...row);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code === "string" && code.startsWith("SQLITE_CONSTRAINT"))
      throw createRefusedRowError(table.name, error);
    throw error;
  }
}
