import type { CopiedTable } from "./copied-tables.ts";
import type { CopyEnd, CopyRow, CopyValue } from "./copy-end.ts";

/** A batch is one transaction of the target, and is in memory several times. */
const BATCH_BYTES = 2 * 1024 * 1024;
const MAX_BATCH_ROWS = 5000;
/** The size of rows is unknown at first: one can have 25 MB. */
const FIRST_BATCH_ROWS = 4;
const MAX_GROWTH = 8;

/** Reads a table in the order of its key. The next batch is read while the caller works on this one. */
export async function* readBatches(
  end: CopyEnd,
  table: CopiedTable,
  columns: readonly string[],
  after?: CopyRow,
): AsyncGenerator<CopyRow[]> {
  const getKey = buildKeyReader(table, columns);
  let limit = FIRST_BATCH_ROWS;
  let next = end.readRows({ table, columns, after, limit });
  for (;;) {
    const rows = await next;
    const last = rows.at(-1);
    if (last === undefined) return;
    const isLast = rows.length < limit;
    limit = chooseLimit(limit, measureRows(rows));
    next = isLast ? Promise.resolve([]) : end.readRows({ table, columns, after: getKey(last), limit });
    next.catch(() => {}); // awaited above, unless the caller stops
    yield rows;
  }
}

export function buildKeyReader(
  table: CopiedTable,
  columns: readonly string[],
): (row: CopyRow) => CopyValue[] {
  const positions = table.key.map((name) => columns.indexOf(name));
  return (row) => positions.map((position) => row[position] ?? null);
}

function chooseLimit(limit: number, bytes: number): number {
  const fitting = Math.floor((limit * BATCH_BYTES) / Math.max(1, bytes));
  return Math.max(1, Math.min(fitting, limit * MAX_GROWTH, MAX_BATCH_ROWS));
}

function measureRows(rows: readonly CopyRow[]): number {
  let bytes = 0;
  for (const row of rows)
    for (const value of row)
      bytes += typeof value === "string" || value instanceof Uint8Array ? value.length + 8 : 8;
  return bytes;
}
