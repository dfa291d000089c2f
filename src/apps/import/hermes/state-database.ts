import { chmodSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../../core/errors.ts";
import { parsePythonJson } from "./lossless-json.ts";

export type HermesRow = Readonly<Record<string, unknown>>;

/** A message row: a record as in transcripts, or a problem. */
export interface MessageRow {
  readonly row: number;
  readonly record: HermesRow;
  /** JSON columns with invalid JSON; the record has their text. */
  readonly damaged: readonly string[];
}

export interface StateDatabase {
  /** The schema version; `undefined` if the database has none. */
  readonly version: number | undefined;
  /** Session rows by id. A session that only has messages gets a row with only the id. */
  readonly sessions: ReadonlyMap<string, HermesRow>;
  /** The first read error of the sessions table. */
  readonly damage: string | undefined;
  /** The messages of a session in order. Throws if the file is damaged. */
  messages(session: string): Generator<MessageRow>;
  close(): void;
}

/** The newest schema version that this code knows. */
export const KNOWN_SCHEMA_VERSION = 6;

const JSON_COLUMNS = ["tool_calls", "reasoning_details", "codex_reasoning_items"] as const;
const COPY_ATTEMPTS = 5;
/** The suffixes of the database file and its two kinds of log. */
const SUFFIXES = ["", "-wal", "-journal"] as const;

/** Opens a copy, because even a reader of a live database creates files beside it or waits for its writer. */
export function openStateDatabase(file: string): StateDatabase {
  const folder = mkdtempSync(join(tmpdir(), "postrider-import-"));
  let db: Database.Database | undefined;
  try {
    const copy = join(folder, "state.db");
    copyAll(file, copy);
    db = new Database(copy, { fileMustExist: true });
    // Merges the log into the file.
    db.pragma("journal_mode = DELETE");
    // An unlinked file stays readable while it is open, and a killed process leaves nothing.
    removeIfPossible(folder);
    return readStateDatabase(db, folder);
  } catch (error) {
    db?.close();
    rmSync(folder, { recursive: true, force: true });
    if (error instanceof PostriderError) throw error;
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") {
      const sentence = `${tmpdir()} has no space for a copy of ${file}. Free some space, or set TMPDIR to another folder.`;
      throw new PostriderError("disk_full", sentence, { cause: error, details: { file } });
    }
    throw new PostriderError("corrupt", `Cannot read ${file}: ${(error as Error).message}.`, {
      cause: error,
      details: { file },
    });
  }
}

function readStateDatabase(db: Database.Database, folder: string): StateDatabase {
  const tables = new Set(
    db.prepare("select name from sqlite_master where type = 'table'").pluck().all() as string[],
  );
  if (!tables.has("sessions") && !tables.has("messages")) {
    throw new PostriderError(
      "corrupt",
      "The database has no tables sessions or messages: it is not a Hermes database.",
    );
  }
  const version = tables.has("schema_version")
    ? db.prepare("select max(version) from schema_version").pluck().get()
    : undefined;
  const { sessions, damage } = readSessionRows(db, tables);
  const said = tables.has("messages")
    ? db.prepare("select * from messages where session_id = ? order by timestamp, id")
    : undefined;
  return {
    version: typeof version === "number" ? version : undefined,
    sessions,
    damage,
    *messages(session) {
      if (said === undefined) return;
      for (const row of said.iterate(session) as IterableIterator<HermesRow>) yield toMessageRow(row);
    },
    close: () => {
      db.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function readSessionRows(db: Database.Database, tables: ReadonlySet<string>) {
  const sessions = new Map<string, HermesRow>();
  let damage: string | undefined;
  try {
    if (tables.has("sessions")) {
      for (const row of db.prepare("select * from sessions").iterate() as IterableIterator<HermesRow>) {
        if (row.id !== null && row.id !== undefined) sessions.set(String(row.id), decodeBytesAsText(row));
      }
    }
    if (tables.has("messages")) {
      const ids = db.prepare("select distinct session_id from messages where session_id is not null").pluck();
      for (const id of ids.iterate() as IterableIterator<unknown>) {
        if (!sessions.has(String(id))) sessions.set(String(id), {});
      }
    }
  } catch (error) {
    damage = (error as Error).message;
  }
  return { sessions, damage };
}

function toMessageRow({ id, session_id: _, ...columns }: HermesRow): MessageRow {
  const damaged: string[] = [];
  const record: Record<string, unknown> = { ...columns };
  for (const column of JSON_COLUMNS) {
    const text = record[column];
    if (typeof text !== "string" || text === "") continue;
    try {
      record[column] = parsePythonJson(text);
    } catch {
      // Under another name, so that no reader takes it for valid JSON.
      delete record[column];
      record[`${column}_text`] = text;
      damaged.push(column);
    }
  }
  return { row: Number(id), record: decodeBytesAsText(record), damaged };
}

/** SQLite columns of any type may contain bytes. */
function decodeBytesAsText(row: HermesRow): HermesRow {
  if (!Object.values(row).some((value) => value instanceof Uint8Array)) return row;
  const texts = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : value,
  ]);
  return Object.fromEntries(texts) as HermesRow;
}

/** Windows cannot remove an open file, so it is closed first. */
function removeIfPossible(folder: string): void {
  if (process.platform !== "win32") rmSync(folder, { recursive: true, force: true });
}

/** Copies the file and its log as of one moment: it retries if a process wrote in between. */
function copyAll(file: string, copy: string): void {
  for (let attempt = 1; attempt <= COPY_ATTEMPTS; attempt += 1) {
    const before = readStamp(file);
    for (const suffix of SUFFIXES) {
      if (existsSync(file + suffix)) copyOne(file + suffix, copy + suffix);
      else rmSync(copy + suffix, { force: true });
    }
    if (readStamp(file) === before) return;
  }
  throw new PostriderError("busy", `Another program is writing ${file}. Stop it and try again.`, {
    details: { file },
  });
}

function copyOne(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_FICLONE);
  chmodSync(to, 0o600);
}

function readStamp(file: string): string {
  return SUFFIXES.map((suffix) => {
    const found = statSync(file + suffix, { throwIfNoEntry: false, bigint: true });
    return `${found?.size} ${found?.mtimeNs}`;
  }).join(" ");
}
