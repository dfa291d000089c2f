import type { Dialect } from "../sql/dialect.ts";

export const sqliteDialect: Dialect = {
  greatest: (a, b) => `max(${a}, ${b})`,
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  // Of a text, substr would end at a NUL. A character has at most four bytes.
  startOf: (text, characters) => `cast(substr(cast(${text} as blob), 1, ${4 * characters}) as text)`,
  isJson: (column) => `json_valid(${column})`,
  jsonText: (column, path) => `json_extract(${column}, '$.${path}')`,
  isJsonTrue: (column, path) => `coalesce(json_extract(${column}, '$.${path}'), 0) = 1`,
  jsonLength: (column, path) => `json_array_length(${column}, '$.${path}')`,
  databaseSize: "select page_count * page_size as bytes from pragma_page_count, pragma_page_size",
  withoutIndex: (column) => `+${column}`,
  joinInOrder: "cross join",
};
