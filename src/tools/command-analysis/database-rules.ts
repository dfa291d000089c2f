import { type DangerRule, matchPrograms, type ProgramInput } from "./danger-rule.ts";
import type { ProgramCall } from "./program-call.ts";

const isSqlClient = matchPrograms(
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
const isMongo = matchPrograms("mongo", "mongosh");

export const DATABASE_RULES: readonly DangerRule[] = [
  {
    kind: "database",
    why: "deletes a database, a table or all its rows",
    matches: (call, feed) =>
      (isSqlClient(call) && isDestructiveSql(collectStatements(call, feed))) ||
      (isMongo(call) &&
        /\b(?:dropDatabase|drop|deleteMany\(\s*\{\s*\}|remove\(\s*\{\s*\})/.test(
          collectStatements(call, feed),
        )) ||
      (call.program === "redis-cli" && /\b(?:flushall|flushdb)\b/i.test(collectStatements(call, feed))) ||
      (call.program === "mysqladmin" && call.operands.includes("drop")) ||
      /^(?:dropdb|dropuser)$/.test(call.program),
  },
  {
    kind: "runs-program",
    why: "makes a program run another program through an option or a setting",
    matches: (call, feed) =>
      isSqlClient(call) &&
      /\\!|(?:^|[;\n])\s*\.?(?:system|shell|sh)\s|\.(?:open\s+\|)|\b(?:to|from)\s+program\b|\\copy\b[^;]*\bprogram\b|\bload_extension\b|\\o\s*\||\\g\s*\|/i.test(
        collectStatements(call, feed),
      ),
  },
];

function collectStatements({ argTexts }: ProgramCall, { text = "" }: ProgramInput): string {
  return [...argTexts, text].join(" ; ");
}

/** Whether a statement deletes more than selected rows. */
function isDestructiveSql(sql: string): boolean {
  return stripComments(sql)
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

function stripComments(sql: string): string {
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
