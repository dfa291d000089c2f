import { PostriderError } from "../../../core/errors.ts";
import type { CopySource } from "../../copy/copy-end.ts";
import { lockDatabaseSql } from "../locks.ts";
import { migrateSchema, nameSchema, readSchemaVersion } from "../migrate.ts";
import type { PostgresOptions } from "../options.ts";
import { translateSql } from "../statements.ts";
import { toPostgresStoreError } from "../store-errors.ts";
import { createPostgresRows, openCopyClient } from "./client.ts";

/** The copy may write for longer than the limit of other transactions. */
const unlimitedSql = "set local idle_in_transaction_session_timeout = 0";

/**
 * Opens a store to copy it, on two connections: one holds the lock that every write of a store takes, and the other, which
 * starts when the lock is held, has the snapshot.
 */
export async function openPostgresSource(options: PostgresOptions): Promise<CopySource> {
  const guard = await openCopyClient(options);
  const { schema, database } = guard;
  let reader: Awaited<ReturnType<typeof openCopyClient>> | undefined;
  try {
    if ((await readSchemaVersion(guard.raw, schema)) === undefined)
      throw new PostriderError(
        "not_found",
        `There is no store in ${nameSchema(schema, database)}. Check the address.`,
        { details: { database, schema } },
      );
    await migrateSchema(guard.raw, schema, database);
    await guard.query("begin");
    await guard.query(unlimitedSql);
    await guard.query({ text: translateSql(lockDatabaseSql, schema), values: [`${schema} database`] });
    reader = await openCopyClient(options);
    await reader.query("begin isolation level repeatable read read only");
    await reader.query(unlimitedSql);
    const clients = [reader, guard];
    return {
      ...createPostgresRows(reader),
      async close() {
        for (const client of clients) await client.close();
      },
    };
  } catch (error) {
    await reader?.close();
    await guard.close();
    throw toPostgresStoreError(error, database);
  }
}
