import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callEveryOperation } from "../../../test/support/every-operation.ts";
import { ALLOWED_SCANS, FEW, GROWING } from "../../../test/support/plan-rules.ts";
import { fillSchema } from "../../../test/support/postgres-data.ts";
import { connectTestServer, findTestServer } from "../../../test/support/postgres-server.ts";
import { isProof, schedule } from "../../../test/support/schedule.ts";
import { getSql, type Statement } from "../sql/db.ts";
import { type Connections, openConnections } from "./connections.ts";
import { postgresDialect } from "./dialect.ts";
import { readOptions } from "./options.ts";
import type { StatementCache } from "./statements.ts";
import { translateSql } from "./statements.ts";
import { composeStore } from "./store.ts";

const SCHEMA = "plans";

/** A node of a plan, as EXPLAIN prints it. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PlanNode[];
}

const PARTIAL = ["conversations_silent", "sessions_ended"];
/** Few rows here, too: of each running turn at most one. */
const FEW_HERE = [...FEW, "deliveries_draft"];

/** Scans that PostgreSQL does where SQLite has another way. */
const ALLOWED_HERE: readonly { readonly statement: RegExp; readonly why: string }[] = [
  {
    statement: /^select \* from \(select p\.\*, .* and true and s\.removed_at is null\) as listed/,
    why: "everyone's ended processes, for the operator",
  },
  {
    statement: /^select u\.\* from usage u join sessions s .* where true/,
    why: "everyone's usage, for the operator",
  },
  {
    statement:
      /^select s\.\* from sessions s\s+where true .* and s\.ended_at is not null and s\.last_at < \?/s,
    why: "everyone's ended sessions, once a day",
  },
];

describe("query plans on PostgreSQL", () => {
  const run = new Set<string>();
  let connections: Connections;

  beforeAll(async () => {
    const url = await findTestServer();
    const opened = await openConnections(readOptions({ url, schema: SCHEMA, clock: "caller", poolSize: 2 }));
    connections = opened;
    const store = composeStore({ ...opened, statements: recordStatements(opened.statements, run) });
    await callEveryOperation(store, () => store.indexPending());
    await store.close();
    await fillSchema(SCHEMA, schedule(25_000, 1_000_000));
  });
  afterAll(async () => {
    await connections.close();
    await (await connectTestServer()).query(`drop schema "${SCHEMA}" cascade`);
  });

  it("use an index for every growing table, if there is one row or a million", async () => {
    expect(run.size).toBeGreaterThan(250);
    const found = await findAllScans(run, "off");
    expect(found.filter(({ isAllowed }) => !isAllowed).map(({ text }) => text)).toEqual([]);
    expect(
      ALLOWED_HERE.filter(({ statement }) => ![...run].some((sql) => statement.test(sql.trim()))),
    ).toEqual([]);
  });

  it("would show a scan", async () => {
    const scans = await findAllScans(
      new Set(["select * from messages where text = ?", "update inbox set state = 2 where message = ?"]),
      "off",
    );
    expect(scans).toHaveLength(2);
    expect(await findAllScans(new Set(["select * from messages where id = ?"]), "off")).toEqual([]);
  });

  it.runIf(isProof)(
    "use an index at a million messages, by the planner's own choice",
    async () => {
      const found = await findAllScans(run, "on");
      expect(found.filter(({ isAllowed }) => !isAllowed).map(({ text }) => text)).toEqual([]);
    },
    600_000,
  );
});

/** The same cache, with every statement of the operations recorded as it is written. */
function recordStatements(cache: StatementCache, run: Set<string>): StatementCache {
  const record = (statement: Statement): Statement => {
    run.add(getSql(statement, postgresDialect));
    return statement;
  };
  return {
    prepare: (statement) => cache.prepare(record(statement)),
    prepareInsert: (statement) => cache.prepareInsert(record(statement)),
  };
}

/** With `off`, a scan of a table is chosen only if there is no other way: the number of rows does not matter. */
async function findAllScans(
  statements: ReadonlySet<string>,
  scans: "on" | "off",
): Promise<{ text: string; isAllowed: boolean }[]> {
  const admin = await connectTestServer();
  const found: { text: string; isAllowed: boolean }[] = [];
  await admin.query("begin");
  // Of few rows, the planner reads all and sorts or hashes them. Not here.
  for (const way of ["seqscan", "hashjoin", "mergejoin"])
    await admin.query(`set local enable_${way} = ${scans}`);
  await admin.query("set local plan_cache_mode = force_generic_plan");
  for (const statement of statements) {
    const text = statement.trim();
    if (!/^(select|update|delete|insert|with)\b/.test(text)) continue;
    // A generic plan expects a limit of a tenth of the rows; when it runs, the planner knows it.
    const sql = translateSql(statement.replaceAll("limit ?", "limit 100"), SCHEMA);
    const { rows } = await admin.query(`explain (generic_plan, format json) ${sql}`);
    const [{ Plan }] = rows[0]["QUERY PLAN"] as [{ Plan: PlanNode }];
    const isAllowed = [...ALLOWED_SCANS, ...ALLOWED_HERE].some((exception) => exception.statement.test(text));
    for (const scan of listScans(Plan, scans))
      found.push({ text: `${scan}: ${text.replaceAll(/\s+/g, " ")}`, isAllowed });
  }
  await admin.query("rollback");
  return found;
}

/** The nodes that read all rows of a growing table, or all entries of one of its indexes. */
function listScans(node: PlanNode, scans: "on" | "off"): string[] {
  const below = (node.Plans ?? []).flatMap((inner) => listScans(inner, scans));
  const { "Node Type": type, "Relation Name": table, "Index Name": index, "Index Cond": condition } = node;
  const isWholeTable = type === "Seq Scan" && table !== undefined && GROWING.includes(table);
  const isWholeIndex =
    /^(Index|Index Only|Bitmap Index) Scan$/.test(type) &&
    condition === undefined &&
    index !== undefined &&
    !FEW_HERE.includes(index) &&
    // A partial index has as few entries as the table has rows of its kind; the test with many rows decides.
    (scans === "on" || !PARTIAL.includes(index)) &&
    GROWING.some((name) => index.startsWith(`${name}_`));
  return isWholeTable || isWholeIndex ? [`${type} of ${index ?? table}`, ...below] : below;
}
