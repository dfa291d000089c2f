import type { Store } from "../../ports/store.ts";
import {
  findOperation,
  hasWritten,
  OPERATIONS,
  type OperationKind,
} from "../sql-async/generated/operations.ts";
import { indexMessages } from "../sql-async/generated/search.ts";
import { type Connections, openConnections } from "./connections.ts";
import { createIndexer } from "./indexer.ts";
import { type PostgresOptions, readOptions } from "./options.ts";
import { createClosedStoreError } from "./store-errors.ts";
import { createTransactionRunner } from "./transaction-runner.ts";

export interface PostgresStore extends Store {
  /** Adds all pending messages to the search index. This also happens by itself, when nothing is written for a moment. */
  indexPending(): Promise<void>;
  /** How many transactions of this store ran again, because of conflicts with others. */
  countRetries(): number;
}

/** Opens a store on PostgreSQL, and creates or migrates its schema. Any number of processes can share it. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const connections = await openConnections(readOptions(options));
  const store = composeStore(connections);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await store.close();
    await connections.close();
  };
  return {
    ...store,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** One process indexes at a time. */
const tryIndexLockSql = "select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as taken";

/** A store on connections that it does not close. */
export function composeStore(connections: Connections): PostgresStore {
  const { settings, changes } = connections;
  const { write, read, countRetries } = createTransactionRunner(connections);
  const indexer = createIndexer((limit) =>
    write({
      scopes: [{ kind: "new" }],
      async run(db) {
        const lock = await db.get<{ taken: number }>(tryIndexLockSql, `${settings.schema} index`);
        return lock?.taken === 1 ? indexMessages(db, limit) : 0;
      },
    }),
  );
  const pending = new Set<Promise<unknown>>();
  const unlisten = new Set<() => void>();
  let isClosed = false;

  async function runWrite(name: string, input: unknown): Promise<unknown> {
    const operation = findOperation(name);
    const run = await operation.load();
    const value = await write({
      scopes: operation.scope(input),
      run: (db) => run(db, input),
    });
    if (hasWritten(name, value)) {
      changes.publish();
      indexer.schedule();
    }
    return value;
  }
  async function runRead(name: string, input: unknown): Promise<unknown> {
    const operation = await findOperation(name).load();
    return read((db) => operation(db, input));
  }
  function track(answer: Promise<unknown>): Promise<unknown> {
    const settled = answer.finally(() => pending.delete(settled));
    pending.add(settled);
    return settled;
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
  // An earlier process may have left messages that are not indexed.
  indexer.schedule();
  return {
    ...(Object.fromEntries(facets) as Omit<Store, "onChange" | "close">),
    onChange(listener) {
      const stop = changes.onChange(listener);
      unlisten.add(stop);
      return () => {
        stop();
        unlisten.delete(stop);
      };
    },
    indexPending: () => indexer.indexPending(),
    countRetries,
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(pending);
      for (const stop of unlisten) stop();
      await indexer.close();
    },
  };
}
