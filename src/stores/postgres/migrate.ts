import { PostriderError } from "../../core/errors.ts";
import { createIncompleteCopyError, createOtherVersionError } from "../copy/copy-errors.ts";
import type { PgClient } from "./driver.ts";
import { lockDatabaseSql } from "./locks.ts";
import { listMigrations, NEWEST_VERSION, TABLES, UNFINISHED_COPY_VERSION } from "./schema.ts";
import { quoteName, translateSql } from "./statements.ts";
import { getErrorCode } from "./store-errors.ts";

/** JSON and the state of transactions need functions of this version. */
const MIN_SERVER_VERSION = 160_000;
const UNDEFINED_TABLE = "42P01";

/**
 * Brings the schema to the newest version. Of several processes that start at once, one does it and the others wait.
 * `allowCopy` accepts an unfinished copy, which is left as it is. Only for the copy itself.
 */
export async function migrateSchema(
  client: PgClient,
  schema: string,
  database: string,
  allowCopy = false,
): Promise<void> {
  await checkServer(client, database);
  const current = await readSchemaVersion(client, schema);
  if (allowCopy && current === UNFINISHED_COPY_VERSION) return;
  if (allowCopy && isUnfinishedVersion(current)) throw createOtherVersionError(nameSchema(schema, database));
  if (checkVersion(current, database, schema)) return;
  await client.query("begin");
  try {
    await client.query({ text: translateSql(lockDatabaseSql, schema), values: [`${schema} database`] });
    // Read again: another process may have migrated it in between.
    const found = await readSchemaVersion(client, schema);
    if (!checkVersion(found, database, schema)) {
      if (found === undefined) await checkIsFree(client, schema, database);
      // Only inside this transaction: all other statements name the schema.
      await client.query(`create schema if not exists ${quoteName(schema)}`);
      await client.query(`set local search_path = ${quoteName(schema)}`);
      for (const migration of listMigrations(found)) await client.query(migration);
      await client.query("delete from schema_version");
      await client.query({
        text: "insert into schema_version (version) values ($1)",
        values: [NEWEST_VERSION],
      });
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {}); // the first error tells more
    throw error;
  }
}

async function checkServer(client: PgClient, database: string): Promise<void> {
  const { rows } = await client.query(
    "select current_setting('server_version_num')::integer as version, current_setting('server_encoding') as encoding",
  );
  const { version, encoding } = rows[0] as { version: number; encoding: string };
  if (version < MIN_SERVER_VERSION)
    throw new PostriderError(
      "invalid_config",
      `The database ${database} runs PostgreSQL ${Math.floor(version / 10_000)}. Postrider needs 16 or newer.`,
      { details: { database, version } },
    );
  if (encoding !== "UTF8")
    throw new PostriderError(
      "invalid_config",
      `The database ${database} has the encoding ${encoding}. Postrider needs UTF8: create a database with it.`,
      { details: { database, encoding } },
    );
}

/** For messages. */
export function nameSchema(schema: string, database: string): string {
  return `the schema ${schema} of the database ${database}`;
}

/** Of any version of Postrider. */
function isUnfinishedVersion(version: number | undefined): boolean {
  return version !== undefined && version > UNFINISHED_COPY_VERSION - NEWEST_VERSION;
}

/** `undefined` if the schema has no tables of Postrider. */
export async function readSchemaVersion(client: PgClient, schema: string): Promise<number | undefined> {
  const { rows } = await client.query({
    text: "select to_regclass($1) is not null as exists",
    values: [`${quoteName(schema)}.schema_version`],
  });
  if ((rows[0] as { exists: number }).exists === 0) return undefined;
  try {
    const found = await client.query(`select version from ${quoteName(schema)}.schema_version`);
    return (found.rows[0] as { version: number } | undefined)?.version;
  } catch (error) {
    if (getErrorCode(error) === UNDEFINED_TABLE) return undefined;
    throw error;
  }
}

/** Whether the schema is current. */
function checkVersion(found: number | undefined, database: string, schema: string): boolean {
  if (isUnfinishedVersion(found)) throw createIncompleteCopyError(nameSchema(schema, database));
  if (found !== undefined && found > NEWEST_VERSION)
    throw new PostriderError(
      "newer_schema",
      `The database ${database} was written by a newer Postrider (schema ${found}; this one supports ${NEWEST_VERSION}). Update Postrider; nothing was changed.`,
      { details: { database, schema, found, newest: NEWEST_VERSION } },
    );
  return found === NEWEST_VERSION;
}

async function checkIsFree(client: PgClient, schema: string, database: string): Promise<void> {
  const { rows } = await client.query({
    text: "select tablename as name from pg_tables where schemaname = $1 and tablename = any($2::text[]) limit 1",
    values: [schema, TABLES],
  });
  const [taken] = rows as { name: string }[];
  if (taken === undefined) return;
  throw new PostriderError(
    "corrupt",
    `The schema ${schema} of the database ${database} has a table ${taken.name} that is not of Postrider. Choose another schema; this one was not changed.`,
    { details: { database, schema, table: taken.name } },
  );
}
