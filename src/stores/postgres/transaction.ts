import type { Db } from "../sql-async/generated/db.ts";
import { createDb, createStatementStream, type StatementStream } from "./connection.ts";
import type { PooledClient } from "./driver.ts";
import type { LockStatement } from "./locks.ts";
import { postgresIndex } from "./search-index.ts";
import type { StatementCache } from "./statements.ts";
import { isStatementError } from "./store-errors.ts";

/** What all transactions of a store share. */
export interface TransactionSettings {
  readonly statements: StatementCache;
  /** Follows BEGIN: time-outs, where the connection itself cannot have them. */
  readonly localSettings: string;
  /** `caller`: the time that the caller gives counts, not the database's. */
  readonly clock: "database" | "caller";
  readonly store: object;
}

/** The operation needs the whole database, and starts again. */
export class ScopeWidenedError extends Error {}

/** COMMIT was sent, and the connection ended before its answer. */
export class UnknownOutcomeError extends Error {
  readonly transaction: TransactionIdentity;
  /** The result of the operation, if it was committed. */
  readonly value: unknown;

  constructor(transaction: TransactionIdentity, value: unknown, cause: unknown) {
    super("the connection was lost during COMMIT", { cause });
    this.transaction = transaction;
    this.value = value;
  }
}

export interface TransactionIdentity {
  readonly xid: string;
  readonly pid: number;
  /** When the server was started: a crash can give the number of a lost transaction to another one. */
  readonly serverStart: string;
}

interface TransactionStart extends TransactionIdentity {
  readonly now: number;
}

/** After the locks: the time is that of the first statement of the operation. Its number decides an unknown outcome. */
const startedSql = `
select pg_current_xact_id()::text as xid, pg_backend_pid() as pid,
  pg_postmaster_start_time()::text as "serverStart",
  (extract(epoch from clock_timestamp()) * 1000)::bigint as now`;
const clockSql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now";

export interface WriteTransaction<Result> {
  readonly locks: readonly LockStatement[];
  /** Whether the whole database is locked. */
  readonly isWide: boolean;
  run(db: Db): Promise<Result>;
}

/** BEGIN, the locks and the first statements are one message; so are the last statements and COMMIT. */
export async function runWriteTransaction<Result>(
  client: PooledClient,
  settings: TransactionSettings,
  { locks, isWide, run }: WriteTransaction<Result>,
): Promise<Result> {
  const { statements, store, clock } = settings;
  const stream = createStatementStream(client);
  let isBroken = true;
  try {
    stream.send(`begin isolation level read committed read write${settings.localSettings}`);
    for (const { sql, values } of locks) stream.send(statements.prepare(sql), values);
    const started = stream
      .ask(statements.prepare(startedSql), [])
      .then(({ rows }) => rows[0] as unknown as TransactionStart);
    started.catch(() => {}); // reported by drain() or the next answer
    const db = createDb({
      stream,
      statements,
      index: postgresIndex,
      store,
      now: async (machineNow) => (clock === "caller" ? machineNow : (await started).now),
      async widenScope() {
        if (!isWide) throw new ScopeWidenedError();
      },
    });
    const value = await run(db);
    // Known before COMMIT is sent: afterwards it may be too late.
    await commit(client, stream, await started, value);
    isBroken = false;
    return value;
  } catch (error) {
    isBroken = error instanceof UnknownOutcomeError || !(await rollBack(client));
    throw error;
  } finally {
    client.release(isBroken);
  }
}

async function commit(
  client: PooledClient,
  stream: StatementStream,
  transaction: TransactionIdentity,
  value: unknown,
): Promise<void> {
  const committing = client.query("commit");
  committing.catch(() => {}); // awaited below
  let failure: { readonly error: unknown } | undefined;
  await stream.drain().catch((error: unknown) => {
    failure = { error };
  });
  let tag: string;
  try {
    tag = (await committing).command;
  } catch (error) {
    if (isStatementError(error)) throw error;
    // A statement that the server has refused cannot be committed.
    if (failure !== undefined && isStatementError(failure.error)) throw failure.error;
    throw new UnknownOutcomeError(transaction, value, error);
  }
  if (failure !== undefined) throw failure.error;
  // A transaction that failed answers COMMIT with ROLLBACK, without an error.
  if (tag !== "COMMIT") throw new Error(`the database answered COMMIT with ${tag}`);
}

/** One snapshot for all statements. */
export async function runReadTransaction<Result>(
  client: PooledClient,
  settings: TransactionSettings,
  run: (db: Db) => Promise<Result>,
): Promise<Result> {
  const { statements, store, clock } = settings;
  const stream = createStatementStream(client);
  let isBroken = true;
  let databaseNow: Promise<number> | undefined;
  const readClock = async (): Promise<number> => {
    const { rows } = await stream.ask(statements.prepare(clockSql), []);
    return (rows[0] as { now: number }).now;
  };
  try {
    stream.send(`begin isolation level repeatable read read only${settings.localSettings}`);
    const db = createDb({
      stream,
      statements,
      index: postgresIndex,
      store,
      now: async (machineNow) => {
        if (clock === "caller") return machineNow;
        databaseNow ??= readClock();
        return databaseNow;
      },
      widenScope: async () => {},
    });
    const value = await run(db);
    await stream.drain();
    // Nobody needs its answer: the next transaction of this connection comes after it.
    client.query("commit").catch(() => {});
    isBroken = false;
    return value;
  } catch (error) {
    isBroken = !(await rollBack(client));
    throw error;
  } finally {
    client.release(isBroken);
  }
}

/** Whether the connection can be used again. */
async function rollBack(client: PooledClient): Promise<boolean> {
  try {
    await client.query("rollback");
    return true;
  } catch {
    return false;
  }
}
