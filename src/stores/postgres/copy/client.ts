import { isOwnPidScope } from "../../../system/process-identity.ts";
import type { CopyEnd, CopyRow, CopyValue, RowRequest, StoreUser } from "../../copy/copy-end.ts";
import type { Db, SearchIndex } from "../../sql-async/generated/db.ts";
import { hasRunnerProcess } from "../../sql-async/generated/runners.ts";
import { createDb, createStatementStream } from "../connection.ts";
import { describeDatabase } from "../connection-url.ts";
import { buildClientConfig, loadDriver, type PgClient, type PgQuery, type PgResult } from "../driver.ts";
import { type PostgresOptions, readOptions } from "../options.ts";
import { postgresIndex } from "../search-index.ts";
import { createStatementCache, quoteName } from "../statements.ts";
import { toPostgresStoreError } from "../store-errors.ts";
import { encodeValue, findExactParser } from "../values.ts";

/** A count of all messages can take minutes. */
const STATEMENT_TIMEOUT_MS = 600_000;

/** A connection of a copy. Its errors name the database. */
export interface CopyClient {
  readonly raw: PgClient;
  readonly schema: string;
  /** Names the database in errors. */
  readonly database: string;
  query(query: PgQuery | string): Promise<PgResult>;
  /** Reads whole numbers as `bigint`. */
  queryExactly(text: string, values: readonly CopyValue[]): Promise<CopyRow[]>;
  /** Runs operations of the store in the current transaction. */
  runWithDb<Result>(run: (db: Db) => Promise<Result>, index?: SearchIndex): Promise<Result>;
  /** The table with its schema. */
  qualify(table: string): string;
  close(): Promise<void>;
}

export async function openCopyClient(options: PostgresOptions): Promise<CopyClient> {
  const settings = readOptions({ ...options, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
  const { schema, connection } = settings;
  const database = describeDatabase(connection.settings);
  const driver = await loadDriver();
  const raw = new driver.Client({ ...(await buildClientConfig(driver, connection)), pipeline: true });
  raw.on("error", () => {}); // the query in progress reports it
  const exactTypes = {
    getTypeParser: (oid: number, format?: string) =>
      findExactParser(oid) ?? driver.types.getTypeParser(oid, format),
  };
  const statements = createStatementCache(schema, settings.isNamed);
  const store = {};
  const query = async (text: PgQuery | string): Promise<PgResult> => {
    try {
      return await raw.query(text);
    } catch (error) {
      throw toPostgresStoreError(error, database);
    }
  };
  try {
    await raw.connect();
  } catch (error) {
    throw toPostgresStoreError(error, database);
  }
  return {
    raw,
    schema,
    database,
    query,
    async queryExactly(text, values) {
      const result = await query({
        text,
        values: values.map(encodeValue),
        rowMode: "array",
        types: exactTypes,
      });
      return result.rows as CopyRow[];
    },
    async runWithDb(run, index = postgresIndex) {
      const stream = createStatementStream(raw);
      const now = async (): Promise<number> => {
        const { rows } = await raw.query(clockSql);
        return (rows[0] as { now: number }).now;
      };
      const db = createDb({
        stream,
        statements,
        index,
        store,
        now,
        widenScope: async () => {},
      });
      const value = await run(db);
      await stream.drain();
      return value;
    },
    qualify: (table) => `${quoteName(schema)}.${quoteName(table)}`,
    async close() {
      await raw.end().catch(() => {}); // it may be gone already
    },
  };
}

const clockSql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now";
const columnsSql = `
select attname::text as name, format_type(atttypid, null) as type from pg_attribute
where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`;
const usersSql = `
select r.id, r.host, r.boot, r.pid, (select min(name) from leases l where l.runner = r.id
  and (l.name like 'gateway%' or l.name like 'worker%')) as lease
from runners r order by r.pid`;

type RunnerRow = StoreUser & { readonly id: string; readonly boot: string };

/** The reads of a copy. The caller owns the connection and its transaction. */
export function createPostgresRows(client: CopyClient): Omit<CopyEnd, "close"> {
  const { schema, database, qualify } = client;
  return {
    name: `postgres:${database}, schema ${schema}`,
    async listColumns({ name }) {
      return (await readColumnTypes(client, name)).map((column) => column.name);
    },
    async countRows({ name }) {
      const { rows } = await client.query(`select count(*) as n from ${qualify(name)}`);
      return (rows[0] as { n: number }).n;
    },
    readRows: (request) => client.queryExactly(buildSelect(request, qualify), request.after ?? []),
    async readSequence({ name }) {
      const sequence = await findSequence(client, name);
      const [[last, isCalled] = []] = await client.queryExactly(
        `select last_value, is_called from ${sequence}`,
        [],
      );
      return isCalled === 1 ? (last as bigint) : 0n;
    },
    listUsers: (now) =>
      client.runWithDb(async (db) => {
        const users: StoreUser[] = [];
        for (const { id, boot, pid, host, lease } of await db.all<RunnerRow>(usersSql)) {
          // A process in another container may have the pid of this one.
          if (pid === process.pid && isOwnPidScope(boot)) continue;
          if (await hasRunnerProcess(db, id, now)) users.push({ pid, host, lease });
        }
        return users;
      }),
  };
}

export interface ColumnType {
  readonly name: string;
  readonly type: string;
}

export async function readColumnTypes(client: CopyClient, table: string): Promise<ColumnType[]> {
  const { rows } = await client.query({ text: columnsSql, values: [client.qualify(table)] });
  return rows as ColumnType[];
}

/** The name of the sequence that numbers the rows of a table, as SQL. */
export async function findSequence(client: CopyClient, table: string): Promise<string> {
  const { rows } = await client.query({
    text: "select pg_get_serial_sequence($1, 'n') as name",
    values: [client.qualify(table)],
  });
  return (rows[0] as { name: string }).name;
}

function buildSelect({ table, columns, after, limit }: RowRequest, qualify: CopyClient["qualify"]): string {
  const key = table.key.map(quoteName).join(", ");
  const start =
    after === undefined ? "" : `where (${key}) > (${table.key.map((_, at) => `$${at + 1}`).join(", ")})`;
  const names = columns.map(quoteName).join(", ");
  return `select ${names} from ${qualify(table.name)} ${start} order by ${key} limit ${limit}`;
}
