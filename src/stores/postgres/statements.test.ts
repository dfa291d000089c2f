import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { getSql, type Statement } from "../sql/db.ts";
import { postgresDialect } from "./dialect.ts";
import { TABLES } from "./schema.ts";
import { createStatementCache, translateSql } from "./statements.ts";

const STATEMENTS = (
  await Promise.all(
    readdirSync(new URL("../sql/statements", import.meta.url)).map(
      (file): Promise<Record<string, unknown>> => import(`../sql/statements/${file}`),
    ),
  )
)
  .flatMap((module) => Object.entries(module))
  .filter(([name]) => /^(?!build).*Sql$/.test(name))
  .map(([name, statement]) => [name, getSql(statement as Statement, postgresDialect)] as const);

describe("a statement for PostgreSQL", () => {
  it("has numbered parameters and qualified tables, outside of texts", () => {
    expect(
      translateSql(
        "select '?', \"from sessions\" from sessions s join inbox i on i.n = ? where s.id = ?",
        "a b",
      ),
    ).toBe(
      `select '?', "from sessions" from "a b".sessions s join "a b".inbox i on i.n = $1 where s.id = $2`,
    );
    expect(translateSql("update usage set at = ? where usage.at is distinct from ?", 'x"y')).toBe(
      `update "x""y".usage set at = $1 where usage.at is distinct from $2`,
    );
    expect(translateSql("select count(*) as messages from (select 1) as sessions", "s")).toBe(
      "select count(*) as messages from (select 1) as sessions",
    );
  });

  it("names no table without the schema", () => {
    expect(STATEMENTS.length).toBeGreaterThan(200);
    const bare = new RegExp(String.raw`\b(?:from|join|into|update)\s+(?:${TABLES.join("|")})\b`, "i");
    expect(STATEMENTS.filter(([, sql]) => bare.test(translateSql(sql, "s")))).toEqual([]);
  });

  it("is prepared once by name; beyond a limit, or behind a pooler, it has no name", () => {
    const cache = createStatementCache("s", true);
    expect(cache.prepare("select 1")).toBe(cache.prepare("select 1"));
    expect(cache.prepareInsert("insert into inbox (n) values (?)")).toMatchObject({
      text: `insert into "s".inbox (n) values ($1) returning n`,
    });
    const names = Array.from({ length: 1100 }, (_, n) => cache.prepare(`select ${n}`).name);
    expect(new Set(names.filter((name) => name !== undefined)).size).toBeLessThanOrEqual(1000);
    expect(names.at(-1)).toBeUndefined();
    expect(createStatementCache("s", false).prepare("select 1").name).toBeUndefined();
  });
});
