import { readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callEveryOperation } from "../../../test/support/every-operation.ts";
import { ALLOWED_SCANS, FEW, GROWING } from "../../../test/support/plan-rules.ts";
import { getSql, type Statement } from "../sql/db.ts";
import { type Facets, findOperation, OPERATIONS } from "../sql/operations.ts";
import { indexMessages } from "../sql/search.ts";
import { openWriter, type SqliteDb } from "./connection.ts";
import { sqliteDialect } from "./dialect.ts";

/** Every statement that is complete in itself; functions build the others for a request. */
const STATEMENTS: readonly (readonly [name: string, sql: string])[] = (
  await Promise.all(
    readdirSync(new URL("../sql/statements", import.meta.url)).map(
      (file): Promise<Record<string, unknown>> => import(`../sql/statements/${file}`),
    ),
  )
)
  .flatMap((module) => Object.entries(module))
  .flatMap(([name, statement]) =>
    /^(?!build).*Sql$/.test(name) ? [[name, getSql(statement as Statement, sqliteDialect)] as const] : [],
  );

describe("query plans", () => {
  let folder: string;
  let db: SqliteDb;
  const run = new Set<string>();
  const called = new Set<string>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postrider-plans-"));
    db = openWriter({ file: join(folder, "postrider.db") });
    const recorded = recording(db, run);
    await callEveryOperation(await loadFacets(recorded, called), async () => indexMessages(recorded, 9));
  });
  afterAll(async () => {
    db.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("cover every operation", () => {
    expect([...called].toSorted()).toEqual(
      Object.values(OPERATIONS)
        .flatMap((facet) => Object.keys(facet))
        .toSorted(),
    );
    expect(run.size).toBeGreaterThan(100);
  });

  it("scan no growing table, in any statement of an operation", () => {
    expect([...run].flatMap((statement) => walks(db, statement))).toEqual([]);
  });

  for (const [name, statement] of STATEMENTS) {
    if (!/^\s*(select|update|delete|with)\b/.test(statement)) continue;
    it(`scan no growing table, in ${name}`, () => {
      expect(walks(db, statement)).toEqual([]);
    });
  }

  it("have no unused exception", () => {
    const texts = [...run, ...STATEMENTS.map(([, text]) => text)];
    const unused = ALLOWED_SCANS.filter(
      ({ statement }) => !texts.some((text) => statement.test(text.trim()) && scans(db, text).length > 0),
    );
    expect(unused.map(({ statement }) => String(statement))).toEqual([]);
  });

  it("would show a scan", () => {
    expect(walks(db, "select * from messages m where m.text = ?")).toHaveLength(1);
    expect(walks(db, "select * from messages where id = ?")).toEqual([]);
    expect(walks(db, "update inbox set state = 2 where chat_id = ?")).toHaveLength(1);
  });
});

/** The table scans of a statement that are not allowed. */
function walks(db: SqliteDb, statement: string): string[] {
  if (ALLOWED_SCANS.some((exception) => exception.statement.test(statement.trim()))) return [];
  return scans(db, statement).map((detail) => `${detail}: ${statement.trim().replaceAll(/\s+/g, " ")}`);
}

function scans(db: SqliteDb, statement: string): string[] {
  if (!/^\s*(select|update|delete|insert|with)\b/.test(statement)) return [];
  const values = Array.from(statement.matchAll(/\?/g), () => null);
  const plan = db.all<{ detail: string }>(`explain query plan ${statement}`, ...values);
  const names = new Map(
    Array.from(
      statement.matchAll(/\b(?:from|join|update|into)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?/g),
      ([, table, alias]) => [alias ?? table, table],
    ),
  );
  return plan.flatMap(({ detail }) => {
    const [, name = "", index] = /^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?/.exec(detail) ?? [];
    const table = names.get(name) ?? name;
    return GROWING.includes(table) && !FEW.includes(index ?? "") ? [`${detail} (${table})`] : [];
  });
}

/** The same connection, with every statement recorded. */
function recording(db: SqliteDb, statements: Set<string>): SqliteDb {
  const noted = <Args extends readonly unknown[], Result>(
    method: (statement: Statement, ...values: Args) => Result,
  ) => {
    return (statement: Statement, ...values: Args): Result => {
      statements.add(getSql(statement, sqliteDialect));
      return method(statement, ...values);
    };
  };
  return {
    ...db,
    get: noted(db.get) as SqliteDb["get"],
    all: noted(db.all) as SqliteDb["all"],
    rows: noted(db.rows),
    run: noted(db.run),
    insert: noted(db.insert),
    send: noted(db.send),
  };
}

/** Every operation on this connection, which records its name when it is called. */
async function loadFacets(db: SqliteDb, called: Set<string>): Promise<Facets> {
  const facets = Object.entries(OPERATIONS).map(async ([facet, entries]) => {
    const operations = Object.keys(entries).map(async (name) => {
      const operation = await findOperation(name).load();
      const noted = async (input: unknown): Promise<unknown> => {
        called.add(name);
        return operation(db, input);
      };
      return [name, noted];
    });
    return [facet, Object.fromEntries(await Promise.all(operations))];
  });
  return Object.fromEntries(await Promise.all(facets)) as Facets;
}
