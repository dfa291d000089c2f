import { isDeepStrictEqual } from "node:util";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../../schema.ts";
import type { CellValue, DecodedRow } from "./cells.ts";

interface Column {
  readonly name: string;
  readonly type: "integer" | "real" | "text" | "blob";
  readonly isRequired: boolean;
  /** The row number, which is not among the stored columns. */
  readonly isRowid: boolean;
}

/** The stored form of a table in one version of the schema. */
export interface SalvageTable {
  readonly name: string;
  readonly kind: "table" | "index";
  readonly columns: readonly Column[];
}

export interface KnownSchema {
  /** By name, the newest version first: old rows keep their form when a table gets more columns. */
  readonly tables: ReadonlyMap<string, readonly SalvageTable[]>;
  /** The root page of each table or index: in a new file, and in one after VACUUM. */
  readonly layouts: readonly ReadonlyMap<string, number>[];
}

/** The tables of Postrider's files, now and in earlier versions, read from new files. */
export function readKnownSchema(): KnownSchema {
  const tables = new Map<string, SalvageTable[]>();
  const layouts: ReadonlyMap<string, number>[] = [];
  for (let version = MIGRATIONS.length; version > 0; version -= 1) {
    const schema = readSchema(MIGRATIONS.slice(0, version));
    layouts.push(...schema.layouts);
    for (const table of schema.tables) {
      const versions = tables.get(table.name) ?? [];
      if (!versions.some(({ columns }) => isDeepStrictEqual(columns, table.columns))) versions.push(table);
      tables.set(table.name, versions);
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
    const readLayout = (): Map<string, number> =>
      new Map(
        db.prepare("select name, rootpage from sqlite_schema where rootpage > 0").raw().all() as [
          string,
          number,
        ][],
      );
    const created = readLayout();
    db.exec("vacuum");
    const layouts = [created, readLayout()];
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
  // A table without row numbers is stored in the order of its key, which comes first.
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

/** The version of a table that a row may belong to, by the number and types of its values. */
export function findMatchingTable(
  versions: readonly SalvageTable[],
  record: DecodedRow,
): SalvageTable | undefined {
  return versions.find((version) => isMatchingRow(version, record));
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
