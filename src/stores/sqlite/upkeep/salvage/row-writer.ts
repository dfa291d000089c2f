import { INBOX_STATES } from "../../../sql/inbox.ts";
import { SEQS_PER_SESSION } from "../../../sql/rows.ts";
import type { SqliteDb } from "../../connection.ts";
import type { CellValue } from "./cells.ts";
import type { SalvagedRow } from "./scan-pages.ts";
import type { SalvageTable } from "./tables.ts";

export interface TableCount {
  readonly table: string;
  saved: number;
  /** Rows that are readable but contradict others, such as a second one with the same number. */
  dropped: number;
}

/** Appended to the text of a message whose end is lost. */
export const CUT_MARK = " […the rest could not be recovered]";

/** These are derived from other tables, or describe processes that do not run here. */
const REBUILT_TABLES: ReadonlySet<string> = new Set(["blob_uses", "runners"]);
const ROWS_PER_COMMIT = 1000;

/** Inserts rows into a new database, in any order. */
export interface RowWriter {
  add(row: SalvagedRow): void;
  /** Commits the remaining rows. */
  end(): { readonly tables: readonly TableCount[]; readonly cut: readonly number[] };
}

export function startRowWriter(db: SqliteDb): RowWriter {
  const counts = new Map<string, TableCount>();
  const cut: number[] = [];
  let pending = 0;
  const getCount = ({ name }: SalvageTable): TableCount => {
    let found = counts.get(name);
    if (found === undefined) {
      found = { table: name, saved: 0, dropped: 0 };
      counts.set(name, found);
    }
    return found;
  };
  db.exec("begin");
  return {
    add(row) {
      if (REBUILT_TABLES.has(row.table.name)) return;
      const values = prepareRow(row);
      const counted = getCount(row.table);
      if (values === undefined || !insertRow(db, row.table, values)) counted.dropped += 1;
      else {
        counted.saved += 1;
        if (row.cutAt !== undefined && row.rowid !== undefined) cut.push(row.rowid);
      }
      pending += 1;
      if (pending % ROWS_PER_COMMIT === 0) db.exec("commit; begin");
    },
    end() {
      db.exec("commit");
      return { tables: [...counts.values()].toSorted((a, b) => (a.table < b.table ? -1 : 1)), cut };
    },
  };
}

/** The values for the new database. Of incomplete rows only messages are kept: their text has a beginning. */
function prepareRow({ table, values, rowid, cutAt }: SalvagedRow): CellValue[] | undefined {
  const ready = values.map((value, index) => (table.columns[index]?.isRowid ? (rowid ?? null) : value));
  if (clearInvalidJson(table, ready) === undefined) return undefined;
  if (table.name === "messages") return prepareMessage(table, ready, cutAt);
  if (cutAt !== undefined) return undefined;
  const set = (column: string, value: CellValue): void => {
    ready[table.columns.findIndex(({ name }) => name === column)] = value;
  };
  if (table.name === "leases") {
    set("runner", null);
    set("until", 0);
  }
  if (table.name === "inbox" && isUnanswerable(table, ready)) {
    set("state", INBOX_STATES.indexOf("cancelled"));
    set("message", null);
  }
  return ready;
}

/** A pending message without content or source cannot be answered. */
function isUnanswerable(table: SalvageTable, ready: readonly CellValue[]): boolean {
  const state = INBOX_STATES[Number(getColumnValue(table, ready, "state"))];
  if (state !== "waiting" && state !== "unanswered") return false;
  return getColumnValue(table, ready, "message") === null || getColumnValue(table, ready, "source") === null;
}

function getColumnValue(
  { columns }: SalvageTable,
  values: readonly CellValue[],
  column: string,
): CellValue | undefined {
  return values[columns.findIndex(({ name }) => name === column)];
}

function prepareMessage(
  table: SalvageTable,
  ready: CellValue[],
  cutAt: number | undefined,
): CellValue[] | undefined {
  const at = (name: string): number => table.columns.findIndex((column) => column.name === name);
  const [id, text] = [ready[at("id")], ready[at("text")]];
  if (typeof id !== "number" || id < SEQS_PER_SESSION || id % SEQS_PER_SESSION === 0) return undefined;
  if (cutAt !== undefined && cutAt < at("text")) return undefined;
  if (cutAt === at("text")) ready[at("text")] = `${text ?? ""}${CUT_MARK}`;
  return ready;
}

/** Columns that contain JSON. An invalid value is dropped, or its row if the column is required. */
const JSON_COLUMN_NAMES: Readonly<Record<string, readonly string[]>> = {
  messages: ["parts", "meta"],
  sessions: ["origin", "config"],
  inbox: ["message", "source"],
  turns: ["target", "said"],
  deliveries: ["target", "parts", "buttons", "shown"],
  conversations: ["settings"],
  processes: ["target", "watch", "match_lines"],
  memories: ["entries"],
};

function clearInvalidJson({ name, columns }: SalvageTable, ready: CellValue[]): CellValue[] | undefined {
  for (const column of JSON_COLUMN_NAMES[name] ?? []) {
    const at = columns.findIndex(({ name: other }) => other === column);
    if (isValidJson(column, ready[at])) continue;
    if (columns[at]?.isRequired) return undefined;
    ready[at] = null;
  }
  return ready;
}

/** Parts are a list of objects, buttons a list of lists, everything else an object; a message is an object with parts. */
function isValidJson(column: string, value: CellValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  try {
    const parsed: unknown = JSON.parse(String(value));
    if (column === "parts") return Array.isArray(parsed) && parsed.every(isObject);
    if (column === "buttons")
      return Array.isArray(parsed) && parsed.every((row) => Array.isArray(row) && row.every(isObject));
    if (column === "match_lines" || column === "entries")
      return Array.isArray(parsed) && parsed.every((line) => typeof line === "string");
    if (!isObject(parsed)) return false;
    return column !== "message" || Array.isArray((parsed as { parts?: unknown }).parts);
  } catch {
    return false;
  }
}

function parsePlatform(target: string): string {
  const { platform } = JSON.parse(target) as { platform?: unknown };
  return typeof platform === "string" ? platform : "";
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function insertRow(db: SqliteDb, table: SalvageTable, row: readonly CellValue[]): boolean {
  const { name } = table;
  const names = table.columns.map((column) => column.name);
  const values = [...row];
  if (name === "deliveries" && !names.includes("platform")) {
    // From before the column `platform` existed.
    names.push("platform");
    values.push(parsePlatform(String(getColumnValue(table, row, "target"))));
  }
  const statement = `insert or ignore into ${name} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
  try {
    return db.run(statement, ...values) > 0;
  } catch (error) {
    // A value that violates a constraint; a full disk is another error.
    if (String((error as { code?: unknown }).code).startsWith("SQLITE_CONSTRAINT")) return false;
    throw error;
  }
}
