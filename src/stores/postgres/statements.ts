import { getSql, type Statement } from "../sql/db.ts";
import { postgresDialect } from "./dialect.ts";
import { TABLES } from "./schema.ts";

/** A statement as PostgreSQL gets it. */
export interface PreparedStatement {
  readonly text: string;
  /** Prepared once per connection under this name; `undefined`: parsed each time. */
  readonly name: string | undefined;
}

export interface StatementCache {
  prepare(statement: Statement): PreparedStatement;
  /** The same with the number `n` of the new row as its result. */
  prepareInsert(statement: Statement): PreparedStatement;
}

/** Statements that are built from a request are many. Those beyond this number are not kept. */
const MAX_PREPARED = 1000;

/** `isNamed: false` for poolers that give each transaction another connection. */
export function createStatementCache(schema: string, isNamed: boolean): StatementCache {
  const statements = new Map<Statement, PreparedStatement>();
  const inserts = new Map<Statement, PreparedStatement>();
  const find = (
    cache: Map<Statement, PreparedStatement>,
    statement: Statement,
    suffix: string,
  ): PreparedStatement => {
    const found = cache.get(statement);
    if (found !== undefined) return found;
    const text = translateSql(getSql(statement, postgresDialect), schema) + suffix;
    const count = statements.size + inserts.size;
    if (count >= MAX_PREPARED) return { text, name: undefined };
    const prepared = { text, name: isNamed ? `postrider_${count}` : undefined };
    cache.set(statement, prepared);
    return prepared;
  };
  return {
    prepare: (statement) => find(statements, statement, ""),
    prepareInsert: (statement) => find(inserts, statement, " returning n"),
  };
}

/** A string literal, a quoted name, a parameter, or a table after a word that a table follows. */
const TOKEN = new RegExp(
  String.raw`'(?:[^']|'')*'|"(?:[^"]|"")*"|\?|\b(from|join|into|update)(\s+)(${TABLES.join("|")})\b`,
  "gi",
);

/** Numbers the parameters, and qualifies every table: a search path could belong to another client of a pooler. */
export function translateSql(sql: string, schema: string): string {
  let parameters = 0;
  return sql.replace(TOKEN, (token, word?: string, space?: string, table?: string) => {
    if (token === "?") {
      parameters += 1;
      return `$${parameters}`;
    }
    return word === undefined ? token : `${word}${space}${quoteName(schema)}.${table}`;
  });
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
