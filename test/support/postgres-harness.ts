import { hostname } from "node:os";
import type { Store } from "../../src/ports/store.ts";
import { type Connections, openConnections } from "../../src/stores/postgres/connections.ts";
import { type PostgresOptions, readOptions } from "../../src/stores/postgres/options.ts";
import { TABLES } from "../../src/stores/postgres/schema.ts";
import { composeStore, openPostgresStore, type PostgresStore } from "../../src/stores/postgres/store.ts";
import { localRunner } from "../../src/system/local-runner.ts";
import { readStartTicks } from "../../src/system/process-identity.ts";
import type { StoreHarness } from "../../src/testing/index.ts";
import { connectTestServer, findTestServer } from "./postgres-server.ts";

/**
 * A harness for the contract. All rules of a file use one schema and one pool, one after the other: creating tables and
 * connecting takes longer than most rules. A second store has its own connections.
 */
export function postgresHarness(
  schema: string,
  more: () => Promise<Partial<PostgresOptions>> = async () => ({}),
): StoreHarness & { close(): Promise<void> } {
  const opened = new Set<PostgresStore>();
  let shared: Promise<Connections> | undefined;
  const buildOptions = async (): Promise<PostgresOptions> => ({
    url: await findTestServer(),
    schema,
    // The rules have fixed times.
    clock: "caller",
    poolSize: 4,
    applicationName: `contract ${schema}`,
    ...(await more()),
  });
  const connect = async (): Promise<Connections> => openConnections(readOptions(await buildOptions()));
  const openStore = async (): Promise<Store> => {
    shared ??= connect();
    const store = composeStore(await shared);
    opened.add(store);
    return store;
  };
  const find = (store: Store): PostgresStore => {
    for (const it of opened) if (it === store) return it;
    throw new Error("the harness has not opened this store");
  };
  return {
    open: openStore,
    async reopen(store) {
      await store.close();
      return openStore();
    },
    async openSecond() {
      const store = await openPostgresStore(await buildOptions());
      opened.add(store);
      return store;
    },
    async destroy() {
      const stores = [...opened];
      opened.clear();
      await Promise.all(stores.map((store) => store.close()));
      await emptyTables(schema);
    },
    waitUntilIdle: (store) => find(store).indexPending(),
    // No process has this pid: the kernel assigns none beyond 2^22.
    deadRunner: () => ({ ...localRunner(), host: hostname(), pid: 4_194_999 }),
    silentRunner: () => ({
      ...localRunner(),
      pid: process.ppid,
      started: readStartTicks(process.ppid) ?? "",
    }),
    ownRunner: () => localRunner(),
    async close() {
      await (await shared)?.close();
    },
  };
}

/** Without triggers: the order of the tables does not matter. */
async function emptyTables(schema: string): Promise<void> {
  const admin = await connectTestServer();
  const deletions = TABLES.map((table) => `delete from "${schema}".${table};`).join("\n");
  await admin.query(`begin; set local session_replication_role = replica; ${deletions} commit`);
}
