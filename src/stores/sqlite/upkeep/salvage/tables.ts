import { isDeepStrictEqual } from "node:util";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../../schema.ts";
import type { CellValue, DecodedRow } from "./cells.ts";

interface Column {
  readonly name: string;
  readonly type: "integer" | "real" | "text" | "blob";
  readonly isRequired: boolean;
  /** The row's own number, which is not among the stored columns. */
  readonly isRowid: boolean;
}

/** A table as its rows lie in the file, under one version of the schema. */
export interface SalvageTable {
  readonly name: string;
  readonly kind: "table" | "index";
  readonly columns: readonly Column[];
}

export interface KnownSchema {
  /** By name, the newest version first: rows stay as they were written when a table gets more columns. */
  readonly tables: ReadonlyMap<string, readonly SalvageTable[]>;
  /** Where each tree begins, by the name of its table or index: in a file as it was made, and in one written anew. */
  readonly layouts: readonly ReadonlyMap<string, number>[];
}

/** What Postrider's files consist of, now and in earlier versions, learnt from new ones. */
export function readKnownSchema(): KnownSchema {
  const tables = new Map<string, SalvageTable[]>();
  const layouts: ReadonlyMap<string, number>[] = [];
  for (let version = MIGRATIONS.length; version > 0; version -= 1) {
    const learnt = readSchema(MIGRATIONS.slice(0, version));
    layouts.push(...learnt.layouts);
    for (const table of learnt.tables) {
      const shapes = tables.get(table.name) ?? [];
      if (!shapes.some(({ columns }) => isDeepStrictEqual(columns, table.columns))) shapes.push(table);
      tables.set(table.name, shapes);
    }
  }
  return { tables, layouts };
}

function readSchema(migrations: readonly string[]): {
  tables: SalvageTable[];
  layouts: Map<string, number>[];
} {
  const db = new Database(":memory:");
  try {
    for (const migration of migrations) db.exec(migration);
    const layout = (): Map<string, number> =>
      new Map(
        db.prepare("select name, rootpage from sqlite_schema where rootpage > 0").raw().all() as [
          string,
          number,
        ][],
      );
    const made = layout();
    db.exec("vacuum");
    const layouts = [made, layout()];
    const listed = db
      .prepare("select name, wr from pragma_table_list where schema = 'main' and type = 'table'")
      .all() as { name: string; wr: number }[];
    const tables = listed
      .filter(({ name }) => !name.startsWith("sqlite_") && !name.startsWith("words"))
      .map(
        ({ name, wr }): SalvageTable => ({
          name,
          kind: wr === 1 ? "index" : "table",
          columns: readColumns(db, name, wr === 1),
        }),
      );
    return { tables, layouts };
  } finally {
    db.close();
  }
}

function readColumns(db: Database.Database, table: string, isKeyed: boolean): Column[] {
  const columns = db.prepare('select name, type, "notnull", pk from pragma_table_info(?)').all(table) as {
    name: string;
    type: string;
    notnull: number;
    pk: number;
  }[];
  // A table without row numbers is stored by its key, which comes first.
  const stored = isKeyed
    ? [
        ...columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk),
        ...columns.filter(({ pk }) => pk === 0),
      ]
    : columns;
  return stored.map(({ name, type, notnull, pk }) => ({
    name,
    type: type.toLowerCase() as Column["type"],
    isRequired: notnull === 1 || (isKeyed && pk > 0),
    isRowid: !isKeyed && pk > 0,
  }));
}

/** The version of a table to which a row may belong, by the number and the kinds of its values. */
export function findMatchingTable(
  shapes: readonly SalvageTable[],
  record: DecodedRow,
): SalvageTable | undefined {
  return shapes.find((shape) => isMatchingRow(shape, record));
}

function isMatchingRow({ columns }: SalvageTable, { values, cutAt = values.length }: DecodedRow): boolean {
  return (
    values.length === columns.length &&
    columns.every((column, index) => index >= cutAt || isMatchingValue(column, values[index] ?? null))
  );
}

function isMatchingValue({ type, isRequired, isRowid }: Column, value: CellValue): boolean {
  if (isRowid) return value === null;
  if (value === null) return !isRequired;
  if (type === "text") return typeof value === "string";
  return type === "blob" ? Buffer.isBuffer(value) : typeof value === "number";
}
