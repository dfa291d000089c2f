import type { Db } from "../../connection.ts";
import { INBOX_STATES } from "../../inbox.ts";
import { SEQ_BITS } from "../../rows.ts";
import type { Value } from "./cells.ts";
import type { Row } from "./gathering.ts";
import type { Table } from "./tables.ts";

export interface TableCount {
  readonly table: string;
  saved: number;
  /** Rows that could be read but contradict others, such as a second one with the same number. */
  dropped: number;
}

/** What of a message's text follows when its end is lost. */
export const CUT_MARK = " […the rest could not be recovered]";

/** These follow from the others, or tell of programs that do not run here. */
const MADE_AGAIN: ReadonlySet<string> = new Set(["blob_uses", "runners"]);
const ROWS_PER_COMMIT = 1000;

/** Puts rows into a new database, whatever order they come in. */
export interface Refilling {
  add(row: Row): void;
  /** Commits what is left. */
  end(): { readonly tables: readonly TableCount[]; readonly cut: readonly number[] };
}

export function refill(db: Db): Refilling {
  const counts = new Map<string, TableCount>();
  const cut: number[] = [];
  let pending = 0;
  const countOf = ({ name }: Table): TableCount => {
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
      if (MADE_AGAIN.has(row.table.name)) return;
      const values = readied(row);
      const counted = countOf(row.table);
      if (values === undefined || !insert(db, row.table, values)) counted.dropped += 1;
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

/** The values as the new database takes them. Of what is cut only a message can be kept: its words have a beginning. */
function readied({ table, values, rowid, cutAt }: Row): Value[] | undefined {
  const ready = values.map((value, index) => (table.columns[index]?.isRowid ? (rowid ?? null) : value));
  if (withJson(table, ready) === undefined) return undefined;
  if (table.name === "messages") return message(table, ready, cutAt);
  if (cutAt !== undefined) return undefined;
  const set = (column: string, value: Value): void => {
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

/** What waits without its words, or without the place it came from, cannot be answered. */
function isUnanswerable(table: Table, ready: readonly Value[]): boolean {
  const state = INBOX_STATES[Number(valueIn(table, ready, "state"))];
  if (state !== "waiting" && state !== "unanswered") return false;
  return valueIn(table, ready, "message") === null || valueIn(table, ready, "source") === null;
}

function valueIn({ columns }: Table, values: readonly Value[], column: string): Value | undefined {
  return values[columns.findIndex(({ name }) => name === column)];
}

function message(table: Table, ready: Value[], cutAt: number | undefined): Value[] | undefined {
  const at = (name: string): number => table.columns.findIndex((column) => column.name === name);
  const [id, text] = [ready[at("id")], ready[at("text")]];
  if (typeof id !== "number" || id < SEQ_BITS || id % SEQ_BITS === 0) return undefined;
  if (cutAt !== undefined && cutAt < at("text")) return undefined;
  if (cutAt === at("text")) ready[at("text")] = `${text ?? ""}${CUT_MARK}`;
  return ready;
}

/** Columns that are read as JSON. One that is none any more is left out, or its row where it must be there. */
const JSON_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  messages: ["parts", "meta"],
  sessions: ["origin", "config"],
  inbox: ["message", "source"],
  turns: ["target", "said"],
  deliveries: ["target", "parts", "buttons", "shown"],
  conversations: ["settings"],
  processes: ["target", "watch", "match_lines"],
  memories: ["entries"],
};

function withJson({ name, columns }: Table, ready: Value[]): Value[] | undefined {
  for (const column of JSON_COLUMNS[name] ?? []) {
    const at = columns.findIndex((one) => one.name === column);
    if (isJson(column, ready[at])) continue;
    if (columns[at]?.isRequired) return undefined;
    ready[at] = null;
  }
  return ready;
}

/** A list of objects for parts, of lists for buttons, an object for everything else; of a message, one with parts. */
function isJson(column: string, value: Value | undefined): boolean {
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

function platformIn(target: string): string {
  const { platform } = JSON.parse(target) as { platform?: unknown };
  return typeof platform === "string" ? platform : "";
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function insert(db: Db, table: Table, row: readonly Value[]): boolean {
  const { name } = table;
  const names = table.columns.map((column) => column.name);
  const values = [...row];
  if (name === "deliveries" && !names.includes("platform")) {
    // From before the platform had a column of its own.
    names.push("platform");
    values.push(platformIn(String(valueIn(table, row, "target"))));
  }
  const statement = `insert or ignore into ${name} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
  try {
    return db.run(statement, ...values).changes > 0;
  } catch (error) {
    // A value that the schema forbids; a disk without room is something else.
    if (String((error as { code?: unknown }).code).startsWith("SQLITE_CONSTRAINT")) return false;
    throw error;
  }
}
