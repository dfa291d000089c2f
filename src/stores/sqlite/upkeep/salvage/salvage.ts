import { chmodSync, copyFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../../../core/errors.ts";
import { SEQS_PER_SESSION } from "../../../sql/rows.ts";
import { openWriter, type SqliteDb } from "../../connection.ts";
import { toStoreError } from "../../store-errors.ts";
import { buildTemporaryName, hasFile, moveIntoPlace, removeDatabaseFiles } from "../files.ts";
import { assertIntact, countContents, openPostriderDatabase } from "../integrity.ts";
import { rebuildIndex, repairDatabase } from "../repair-database.ts";
import { formatFileTimestamp, listDatabaseUsers } from "../replace-database.ts";
import { openPages } from "./pages.ts";
import { startRowWriter, type TableCount } from "./row-writer.ts";
import { type PageScan, scanPages } from "./scan-pages.ts";

/** The known lost messages of a session. */
export interface Loss {
  readonly session: string;
  readonly handle: string | null;
  readonly title: string | null;
  readonly lost: readonly { readonly from: number; readonly to: number }[];
}

export interface Salvaged {
  readonly file: string;
  readonly sessions: number;
  readonly messages: number;
  /** The number of pages of the broken file, and the unreadable ones. */
  readonly pages: number;
  readonly unreadable: readonly number[];
  readonly strays: number;
  readonly broken: number;
  readonly lostFrames: number;
  readonly tables: readonly TableCount[];
  readonly losses: readonly Loss[];
  /** Messages of which only the beginning was recovered. */
  readonly cut: readonly { readonly session: string; readonly seq: number }[];
  /** The repairs, in sentences. */
  readonly mended: readonly string[];
}

/** Copies all readable data of a broken database into a new one beside it. The original is only read, once. */
export function salvageDatabase(file: string, now: number): Salvaged {
  const original = resolve(file);
  if (!hasFile(original) || !statSync(original).isFile())
    throw new PostriderError("not_found", `There is no file ${original}.`, { details: { file: original } });
  const pids = listDatabaseUsers(original, now);
  if (pids.length > 0) {
    throw new PostriderError(
      "in_use",
      `Another Postrider (process ${pids.join(", ")}) uses ${original}. End it first.`,
      { details: { file: original, pids } },
    );
  }
  const target = findFreeName(`${original}.salvaged-${formatFileTimestamp(now)}`);
  const work = buildTemporaryName(`${target}.work`);
  const unfinished = buildTemporaryName(target);
  try {
    for (const suffix of ["", "-wal"])
      if (hasFile(original + suffix)) copyPrivately(original + suffix, work + suffix);
    const report = { ...salvageInto(work, unfinished, now), file: target };
    moveIntoPlace(unfinished, target, false);
    return report;
  } catch (error) {
    const known = toStoreError(error, target);
    throw known.code !== "disk_full"
      ? known
      : new PostriderError(
          "disk_full",
          `There is no space to save the readable data beside ${original}, which was left as it is. Free some space and try again.`,
          { cause: error, details: { file: target } },
        );
  } finally {
    removeDatabaseFiles(work);
    removeDatabaseFiles(unfinished);
  }
}

function findFreeName(base: string): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (!hasFile(name)) return name;
  }
}

function copyPrivately(from: string, to: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o600);
}

function salvageInto(work: string, unfinished: string, now: number): Omit<Salvaged, "file"> {
  const pages = openPages(work);
  const db = openWriter({ file: unfinished });
  try {
    db.pragma("foreign_keys = OFF");
    const rowWriter = startRowWriter(db);
    const found = scanPages(pages, rowWriter.add);
    const { tables, cut } = rowWriter.end();
    if (tables.every(({ saved }) => saved === 0))
      throw new PostriderError("corrupt", "The file contains no readable data of a Postrider database.");
    raiseSequences(db, found);
    const losses = findLosses(db);
    db.pragma("foreign_keys = ON");
    const mended: string[] = [];
    repairDatabase(db, now, (text) => mended.push(text));
    mended.push(...deleteContradictions(db), rebuildIndex(db));
    const { count, lostFrames } = pages;
    const { unreadable, strays, broken } = found;
    const named = nameMessages(db, cut);
    convertToSingleFile(db, unfinished);
    const contents = checkContents(unfinished);
    return {
      ...contents,
      pages: count,
      unreadable,
      strays,
      broken,
      lostFrames,
      tables,
      losses,
      cut: named,
      mended,
    };
  } finally {
    pages.close();
    db.close();
  }
}

/** A session number that was ever used is not used again: the ids of messages contain it. */
function raiseSequences(db: SqliteDb, { sequences }: PageScan): void {
  const highest = db.get<{ n: number | null }>("select max(id) >> 24 as n from messages")?.n ?? 0;
  for (const [name, number] of [...sequences, ["sessions", highest] as const]) {
    if (db.run("update sqlite_sequence set seq = max(seq, ?) where name = ?", number, name) === 0)
      db.run("insert into sqlite_sequence (name, seq) values (?, ?)", name, number);
  }
}

/** The messages that sessions had, without those that exist. For a session whose row is lost, only gaps are known. */
function findLosses(db: SqliteDb): Loss[] {
  const losses: Loss[] = [];
  const sessions = db.all<{
    n: number;
    id: string;
    handle: string | null;
    title: string | null;
    next: number;
  }>(
    `select n, id, handle, title, next_seq as next from sessions where removed_at is null and next_seq - 1 > (
       select count(*) from messages where id between n * ${SEQS_PER_SESSION} and n * ${SEQS_PER_SESSION} + ${SEQS_PER_SESSION - 1}) order by n`,
  );
  for (const { n, id, handle, title, next } of sessions)
    losses.push({ session: id, handle, title, lost: findGaps(listSeqs(db, n), next) });
  const orphaned = db.all<{ n: number }>(
    "select distinct id >> 24 as n from messages where id >> 24 not in (select n from sessions) order by 1",
  );
  for (const { n } of orphaned) {
    const seqs = listSeqs(db, n);
    const lost = findGaps(seqs, (seqs.at(-1) ?? 0) + 1);
    if (lost.length > 0) losses.push({ session: `number ${n}`, handle: null, title: null, lost });
  }
  return losses;
}

function listSeqs(db: SqliteDb, n: number): number[] {
  return db
    .rows(
      "select id from messages where id between ? and ? order by id",
      n * SEQS_PER_SESSION,
      (n + 1) * SEQS_PER_SESSION - 1,
    )
    .map(([id]) => (id as number) % SEQS_PER_SESSION);
}

function findGaps(seqs: readonly number[], next: number): { from: number; to: number }[] {
  const lost: { from: number; to: number }[] = [];
  let expected = 1;
  for (const seq of [...seqs, next]) {
    if (seq > expected) lost.push({ from: expected, to: seq - 1 });
    expected = seq + 1;
  }
  return lost;
}

function nameMessages(db: SqliteDb, ids: readonly number[]): { session: string; seq: number }[] {
  return ids.map((id) => ({
    session:
      db.get<{ id: string }>("select id from sessions where n = ?", Math.floor(id / SEQS_PER_SESSION))?.id ??
      "unknown",
    seq: id % SEQS_PER_SESSION,
  }));
}

/** Deletes rows that still refer to missing rows after all repairs. */
function deleteContradictions(db: SqliteDb): string[] {
  const rows = db.all<{ table: string; rowid: number | null }>("pragma foreign_key_check");
  for (const { table, rowid } of rows)
    if (rowid !== null) db.run(`delete from ${table} where rowid = ?`, rowid);
  return rows.length === 0 ? [] : [`${rows.length} rows with references to missing rows were deleted.`];
}

function convertToSingleFile(db: SqliteDb, file: string): void {
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  const raw = new Database(file, { fileMustExist: true });
  raw.pragma("journal_mode = DELETE");
  raw.close();
}

function checkContents(file: string): { sessions: number; messages: number } {
  const raw = openPostriderDatabase(file);
  try {
    assertIntact(raw, file);
    const { sessions, messages } = countContents(raw);
    return { sessions, messages };
  } finally {
    raw.close();
  }
}
