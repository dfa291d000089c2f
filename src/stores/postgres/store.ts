import type { Store } from "../../ports/store.ts";
import { randomHex } from "../sql/random-hex.ts";
import {
  findOperation,
  hasWritten,
  OPERATIONS,
  type OperationKind,
} from "../sql-async/generated/operations.ts";
import { indexMessages } from "../sql-async/generated/search.ts";
import { type ChangeFeed, startChangeFeed } from "./change-feed.ts";
import { describeDatabase } from "./connection-url.ts";
import { buildClientConfig, loadDriver, type PgClient } from "./driver.ts";
import { createIndexer } from "./indexer.ts";
import { migrateSchema } from "./migrate.ts";
import { type PostgresOptions, readOptions } from "./options.ts";
import { createStatementCache } from "./statements.ts";
import { createClosedStoreError, toPostgresStoreError } from "./store-errors.ts";
import { createTransactionRunner } from "./writer.ts";

export interface PostgresStore extends Store {
  /** Adds all pending messages to the search index. This also happens by itself, when nothing is written for a moment. */
  indexPending(): Promise<void>;
}

/** Opens a store on PostgreSQL, and creates or migrates its schema. Any number of processes can share it. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const settings = readOptions(options);
  const { schema, connection } = settings;
  const database = describeDatabase(connection.settings);
  const driver = await loadDriver();
  const config = await buildClientConfig(driver, connection);
  const connect = async () => {
    const client = new driver.Client(config);
    client.on("error", () => {}); // the query in progress reports it
    await client.connect();
    return client;
  };
  const ownPayload = randomHex(8);
  const channel = `postrider ${schema}`;
  const changes = await prepareDatabase();

  async function prepareDatabase(): Promise<ChangeFeed> {
    let client: PgClient | undefined;
    try {
      client = await connect();
      await migrateSchema(client, schema, database);
      return await startChangeFeed({ channel, ownPayload, canListen: settings.canListen, connect }, client);
    } catch (error) {
      await client?.end().catch(() => {}); // it may be gone already
      throw toPostgresStoreError(error, database);
    }
  }
  const pool = new driver.Pool({ ...config, pipeline: true, max: settings.poolSize });
  pool.on("error", () => {}); // an idle connection ended; the next call gets another
  const statements = createStatementCache(schema, settings.isNamed);
  const { write, read } = createTransactionRunner({
    pool,
    schema,
    database,
    statements,
    retryMs: settings.retryMs,
    localSettings: settings.localSettings,
    clock: settings.clock,
    store: pool,
  });
  const notifyStatement = statements.prepare(notifySql);
  const indexer = createIndexer((limit) =>
    write({
      scopes: [{ kind: "new" }],
      async run(db) {
        const lock = await db.get<{ taken: number }>(tryIndexLockSql, `${schema} index`);
        return lock?.taken === 1 ? indexMessages(db, limit) : 0;
      },
      beforeCommit: () => {},
    }),
  );
  const pending = new Set<Promise<unknown>>();
  let isClosed = false;

  function track<Result>(answer: Promise<Result>): Promise<Result> {
    const settled = answer.finally(() => pending.delete(settled));
    pending.add(settled);
    return settled;
  }
  async function runWrite(name: string, input: unknown): Promise<unknown> {
    const operation = findOperation(name);
    const run = await operation.load();
    const value = await write({
      scopes: operation.scope(input),
      run: (db) => run(db, input),
      beforeCommit(result, stream) {
        if (hasWritten(name, result)) stream.send(notifyStatement, [channel, ownPayload]);
      },
    });
    if (hasWritten(name, value)) {
      changes.notify();
      indexer.schedule();
    }
    return value;
  }
  async function runRead(name: string, input: unknown): Promise<unknown> {
    const operation = await findOperation(name).load();
    return read((db) => operation(db, input));
  }
  const call = (name: string, kind: OperationKind) => {
    const run = kind === "read" || kind === "readLong" ? runRead : runWrite;
    return (input: unknown) =>
      isClosed ? Promise.reject(createClosedStoreError()) : track(run(name, input));
  };
  const facets = Object.entries(OPERATIONS).map(([facet, operations]) => [
    facet,
    Object.fromEntries(Object.entries(operations).map(([name, { kind }]) => [name, call(name, kind)])),
  ]);
  indexer.schedule();
  return {
    ...(Object.fromEntries(facets) as Omit<Store, "onChange" | "close">),
    onChange: changes.onChange,
    indexPending: () => indexer.indexPending(),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(pending);
      await Promise.all([indexer.close(), changes.close()]);
      await pool.end();
    },
  };
}

/** Heard by other stores when the transaction commits. */
const notifySql = "select pg_notify(?, ?)";
/** One process indexes at a time. */
const tryIndexLockSql = "select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as taken";
