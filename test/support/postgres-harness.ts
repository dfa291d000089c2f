import { hostname } from "node:os";
import type { Store } from "../../src/ports/store.ts";
import { TABLES } from "../../src/stores/postgres/schema.ts";
import { openPostgresStore, type PostgresStore } from "../../src/stores/postgres/store.ts";
import { localRunner } from "../../src/system/local-runner.ts";
import { readStartTicks } from "../../src/system/process-identity.ts";
import type { StoreHarness } from "../../src/testing/index.ts";
import { connectTestServer, findTestServer } from "./postgres-server.ts";

/**
 * A harness for the contract. All rules of a file use one schema, one after the other, because creating its tables takes
 * longer than most rules.
 */
export function postgresHarness(schema: string): StoreHarness {
  const opened = new Set<PostgresStore>();
  const openStore = async (): Promise<Store> => {
    const store = await openPostgresStore({
      url: await findTestServer(),
      schema,
      // The rules have fixed times.
      clock: "caller",
      poolSize: 4,
      applicationName: `contract ${schema}`,
    });
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
    openSecond: openStore,
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
  };
}

/** Without triggers: the order of the tables does not matter. */
async function emptyTables(schema: string): Promise<void> {
  const admin = await connectTestServer();
  const deletions = TABLES.map((table) => `delete from "${schema}".${table};`).join("\n");
  await admin.query(`begin; set local session_replication_role = replica; ${deletions} commit`);
}
