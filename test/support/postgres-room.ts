import { onTestFinished } from "vitest";
import type { PostgresOptions } from "../../src/stores/postgres/options.ts";
import { openPostgresStore, type PostgresStore } from "../../src/stores/postgres/store.ts";
import { connectTestServer, findTestServer } from "./postgres-server.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

let schemas = 0;

/** A schema of its own on the shared server; dropped after the test. */
export function createTestSchema(): string {
  schemas += 1;
  const schema = `test_${process.pid}_${schemas}`;
  onTestFinished(async () => {
    const admin = await connectTestServer();
    await admin.query(`drop schema if exists "${schema}" cascade`);
  });
  return schema;
}

/** A new store on the shared server; closed after the test. */
export async function openTestStore(options: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
  const schema = options.schema ?? createTestSchema();
  const store = await openPostgresStore({ url: await findTestServer(), ...options, schema });
  onTestFinished(() => store.close());
  return store;
}

export interface ProxiedStore {
  readonly proxy: TcpProxy;
  readonly store: PostgresStore;
  /** A second store on the same data, directly. */
  readonly direct: PostgresStore;
  readonly schema: string;
}

/** A store behind a proxy that can fail, and one beside it that cannot. */
export async function openProxiedStore(options: Partial<PostgresOptions> = {}): Promise<ProxiedStore> {
  const url = new URL(await findTestServer());
  const schema = createTestSchema();
  const direct = await openTestStore({ schema });
  const proxy = await startTcpProxy(Number(url.port));
  onTestFinished(() => proxy.close());
  url.port = String(proxy.port);
  const store = await openTestStore({ ...options, schema, url: url.href });
  return { proxy, store, direct, schema };
}
