import { PostriderError } from "../../core/errors.ts";

/** The object in a column; `undefined` if the text is not one. */
export function parseObject<T extends object>(text: string | null): T | undefined {
  const value = parseJson(text);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as T) : undefined;
}

/** The list in a column; `undefined` if the text is not one. */
export function parseList<T>(text: string | null): T[] | undefined {
  const value = parseJson(text);
  return Array.isArray(value) ? (value as T[]) : undefined;
}

function parseJson(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The position of a value, for a repair. */
export interface JsonCell {
  readonly table: string;
  readonly column: string;
  readonly row: string | number;
}

/** For values that are required: throws `corrupt` with the row. */
export function requireObject<T extends object>(text: string | null, cell: JsonCell): T {
  const value = parseObject<T>(text);
  if (value === undefined) throw createUnreadableError(cell);
  return value;
}

export function requireList<T>(text: string | null, cell: JsonCell): T[] {
  const value = parseList<T>(text);
  if (value === undefined) throw createUnreadableError(cell);
  return value;
}

/** Omits unreadable rows from a list, so that one bad row costs one row. */
export function convertReadable<Row, Value>(rows: readonly Row[], convert: (row: Row) => Value): Value[] {
  return rows.flatMap((row) => {
    try {
      return [convert(row)];
    } catch (error) {
      if (error instanceof PostriderError && error.code === "corrupt") return [];
      throw error;
    }
  });
}

export function createUnreadableError({ table, column, row }: JsonCell): PostriderError {
  return new PostriderError(
    "corrupt",
    `${table}.${column} of row ${row} is not readable; all other data is. Run postrider doctor for advice.`,
    { details: { table, column, row } },
  );
}
