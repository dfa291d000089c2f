import type { Call } from "./call.ts";
import { type Feed, named, type Rule } from "./rule.ts";

const isSqlClient = named(
  ...[
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "sqlcmd",
    "cockroach",
    "clickhouse-client",
    "duckdb",
    "pgcli",
  ],
  ...["mycli", "litecli", "usql", "bq", "snowsql", "sqlplus", "isql", "mysqlsh"],
);
const isMongo = named("mongo", "mongosh");

export const DATABASE_RULES: readonly Rule[] = [
  {
    kind: "database",
    why: "removes a database, a table or all rows of one",
    is: (call, feed) =>
      (isSqlClient(call) && isLoss(saidTo(call, feed))) ||
      (isMongo(call) &&
        /\b(?:dropDatabase|drop|deleteMany\(\s*\{\s*\}|remove\(\s*\{\s*\})/.test(saidTo(call, feed))) ||
      (call.program === "redis-cli" && /\b(?:flushall|flushdb)\b/i.test(saidTo(call, feed))) ||
      (call.program === "mysqladmin" && call.operands.includes("drop")) ||
      /^(?:dropdb|dropuser)$/.test(call.program),
  },
  {
    kind: "runs-program",
    why: "makes a program run another one by an option or a setting",
    is: (call, feed) =>
      isSqlClient(call) &&
      /\\!|(?:^|[;\n])\s*\.?(?:system|shell|sh)\s|\.(?:open\s+\|)|\b(?:to|from)\s+program\b|\\copy\b[^;]*\bprogram\b|\bload_extension\b|\\o\s*\||\\g\s*\|/i.test(
        saidTo(call, feed),
      ),
  },
];

function saidTo({ given }: Call, { text = "" }: Feed): string {
  return [...given, text].join(" ; ");
}

/** Whether a statement takes away more than the rows that it names. */
function isLoss(sql: string): boolean {
  return withoutComments(sql)
    .split(";")
    .some((statement) => {
      if (
        /\bdrop\s+(?:database|table|schema|view|index|role|user|materialized|owned|tablespace)\b/i.test(
          statement,
        )
      )
        return true;
      if (/\btruncate\s+(?:table\s+|only\s+)?["`\w[]/i.test(statement)) return true;
      const isWide =
        /\bdelete\s+from\b/i.test(statement) || (/\bupdate\b/i.test(statement) && /\bset\b/i.test(statement));
      return (
        isWide &&
        !/\bwhere\b(?!\s+(?:true|1|not\s+false|'?(\w+)'?\s*=\s*'?\1'?)\s*$)/i.test(statement.trimEnd())
      );
    });
}

function withoutComments(sql: string): string {
  let plain = "";
  let at = 0;
  for (;;) {
    const start = sql.indexOf("/*", at);
    const end = start < 0 ? -1 : sql.indexOf("*/", start + 2);
    if (end < 0) return (plain + sql.slice(at)).replace(/--[^\n;]*/g, " ");
    plain += `${sql.slice(at, start)} `;
    at = end + 2;
  }
}
