import { randomHex } from "../sql/random-hex.ts";
import { type ChangeFeed, startChangeFeed } from "./change-feed.ts";
import { describeDatabase } from "./connection-url.ts";
import { buildClientConfig, loadDriver, type PgClient, type PgPool } from "./driver.ts";
import { migrateSchema } from "./migrate.ts";
import type { StoreSettings } from "./options.ts";
import { createStatementCache, type StatementCache } from "./statements.ts";
import { toPostgresStoreError } from "./store-errors.ts";

/** The connections to one database, with a current schema. */
export interface Connections {
  readonly settings: StoreSettings;
  /** Names the database in errors, without its password. */
  readonly database: string;
  readonly pool: PgPool;
  readonly statements: StatementCache;
  readonly changes: ChangeFeed;
  close(): Promise<void>;
}

/** Creates or migrates the schema first. The connection that does it stays, for notifications. */
export async function openConnections(settings: StoreSettings): Promise<Connections> {
  const { schema, connection, canListen } = settings;
  const database = describeDatabase(connection.settings);
  const driver = await loadDriver();
  const config = await buildClientConfig(driver, connection);
  const connect = async (): Promise<PgClient> => {
    const client = new driver.Client(config);
    client.on("error", () => {}); // the query in progress reports it
    await client.connect();
    return client;
  };
  const channel = `postrider ${schema}`;
  const ownPayload = randomHex(8);
  let first: PgClient | undefined;
  try {
    first = await connect();
    await migrateSchema(first, schema, database);
    const changes = await startChangeFeed({ channel, ownPayload, canListen, connect }, first);
    const pool = new driver.Pool({ ...config, pipeline: true, max: settings.poolSize });
    pool.on("error", () => {}); // an idle connection ended; the next call gets another
    pool.on("connect", (client) => client.on("error", () => {})); // the query in progress reports it
    return {
      settings,
      database,
      pool,
      statements: createStatementCache(schema, settings.isNamed),
      changes,
      async close() {
        await changes.close();
        await pool.end();
      },
    };
  } catch (error) {
    await first?.end().catch(() => {}); // it may be gone already
    throw toPostgresStoreError(error, database);
  }
}
