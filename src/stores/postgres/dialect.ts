import type { Dialect } from "../sql/dialect.ts";

/** In JSON, NUL and half surrogate pairs are escapes that PostgreSQL cannot convert to text. No query reads such values. */
function toJson(column: string): string {
  return String.raw`(case when strpos(${column}, '\u') > 0
    then regexp_replace(${column}, '\\u(0000|d[89ab-f][0-9a-f]{2})', '\\ufffd', 'gi') else ${column} end)::json`;
}

function toPath(path: string): string {
  return `'{${path.replaceAll(".", ",")}}'`;
}

export const postgresDialect: Dialect = {
  greatest: (a, b) => `greatest(${a}, ${b})`,
  contains: (text, part) => `strpos(${text}, ${part}) > 0`,
  startOf: (text, characters) => `substr(${text}, 1, ${characters})`,
  isJson: (column) => `${column} is json`,
  jsonText: (column, path) => `(${toJson(column)} #>> ${toPath(path)})`,
  isJsonTrue: (column, path) => `coalesce((${toJson(column)} #> ${toPath(path)})::text, '') = 'true'`,
  jsonLength: (column, path) =>
    `(case json_typeof(${toJson(column)} #> ${toPath(path)}) when 'array'
    then json_array_length(${toJson(column)} #> ${toPath(path)}) end)`,
  databaseSize: "select pg_database_size(current_database()) as bytes",
  withoutIndex: (column) => column,
  joinInOrder: "join",
};
