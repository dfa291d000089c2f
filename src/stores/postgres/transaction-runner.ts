import { pause } from "../../system/pause.ts";
import type { Scope } from "../sql/scope.ts";
import type { Db } from "../sql-async/generated/db.ts";
import type { Connections } from "./connections.ts";
import { isCommitted } from "./find-outcome.ts";
import { buildLocks } from "./locks.ts";
import { acquireClient, computeRetryPause } from "./pool.ts";
import { createScopeQueue } from "./scope-queue.ts";
import { isConflict, isUnavailable, toPostgresStoreError } from "./store-errors.ts";
import {
  runReadTransaction,
  runWriteTransaction,
  ScopeWidenedError,
  type TransactionSettings,
  UnknownOutcomeError,
} from "./transaction.ts";

export interface Write<Result> {
  readonly scopes: readonly Scope[];
  run(db: Db): Promise<Result>;
}

export interface TransactionRunner {
  write<Result>(write: Write<Result>): Promise<Result>;
  read<Result>(run: (db: Db) => Promise<Result>): Promise<Result>;
  /** How many transactions ran again: after a conflict with another, or with a wider scope. */
  countRetries(): number;
}

/** With the locks, conflicts are rare: two first contacts of one person, or a title that two sessions get. */
const MAX_CONFLICTS = 20;
const MAX_CONFLICT_PAUSE_MS = 100;

/** Runs operations in transactions, and again where that is safe. */
export function createTransactionRunner(connections: Connections): TransactionRunner {
  const { pool, database, statements } = connections;
  const { schema, retryMs, localSettings, clock } = connections.settings;
  const settings: TransactionSettings = { statements, localSettings, clock, store: {} };
  const queue = createScopeQueue();
  let retries = 0;

  async function write<Result>({ scopes, run }: Write<Result>): Promise<Result> {
    const deadline = performance.now() + retryMs;
    let isWide = scopes.some(({ kind }) => kind === "database");
    let conflicts = 0;
    for (let failures = 1; ; failures += 1) {
      try {
        const client = await acquireClient(pool, deadline);
        const locks = buildLocks(schema, scopes, isWide);
        return await runWriteTransaction(client, settings, { locks, isWide, run });
      } catch (error) {
        if (error instanceof ScopeWidenedError) {
          isWide = true;
          retries += 1;
        } else if (error instanceof UnknownOutcomeError) {
          if (await isCommitted(pool, error, deadline, database)) return error.value as Result;
        } else if (isConflict(error) && conflicts < MAX_CONFLICTS) {
          conflicts += 1;
          retries += 1;
          await pause(computeRetryPause(conflicts, MAX_CONFLICT_PAUSE_MS));
        } else await waitForDatabase(error, failures, deadline);
      }
    }
  }
  async function read<Result>(run: (db: Db) => Promise<Result>): Promise<Result> {
    const deadline = performance.now() + retryMs;
    for (let failures = 1; ; failures += 1) {
      try {
        return await runReadTransaction(await acquireClient(pool, deadline), settings, run);
      } catch (error) {
        await waitForDatabase(error, failures, deadline);
      }
    }
  }
  /** Before another attempt; rejects if there is none. */
  async function waitForDatabase(error: unknown, failures: number, deadline: number): Promise<void> {
    if (!isUnavailable(error) || performance.now() >= deadline) throw error;
    await pause(computeRetryPause(failures));
  }
  const explain = (error: unknown): never => {
    throw toPostgresStoreError(error, database);
  };
  return {
    write: (call) => queue.run(call.scopes, () => write(call)).catch(explain),
    read: (run) => read(run).catch(explain),
    countRetries: () => retries,
  };
}
