import { pause } from "../../system/pause.ts";
import type { PgPool } from "./driver.ts";
import { acquireClient } from "./pool.ts";
import { createUnknownOutcomeError, getErrorCode, isUnavailable } from "./store-errors.ts";
import type { TransactionIdentity, UnknownOutcomeError } from "./transaction.ts";

const statusSql = `
select pg_xact_status($1::xid8) as status, pg_postmaster_start_time()::text as "serverStart"`;
/** Only if this backend still runs that transaction: another may have its process id by now. */
const endBackendSql = `
select pg_terminate_backend(pid) from pg_stat_activity
where pid = $1 and backend_xid::text = ($2::xid8)::xid::text`;
const UNKNOWN_TRANSACTION = "22023";
/** A commit that is in progress takes less. A backend without a client is ended after it. */
const PATIENCE_MS = 200;
const CHECK_MS = 20;

/**
 * Whether a transaction was committed whose connection ended during COMMIT. Asks through other connections until it is
 * decided; an undecided one is ended.
 */
export async function isCommitted(
  pool: PgPool,
  lost: UnknownOutcomeError,
  deadline: number,
  database: string,
): Promise<boolean> {
  const patientUntil = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      const endsBackend = performance.now() > patientUntil;
      const { status, isSameServer } = await askStatus(pool, lost.transaction, deadline, endsBackend);
      if (status === "aborted") return false;
      // After a restart this may be another transaction with the same number, and ours may be lost.
      if (status === "committed" && !isSameServer) throw createUnknownOutcomeError(database, lost.cause);
      if (status === "committed") return true;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
    if (performance.now() >= deadline) throw createUnknownOutcomeError(database, lost.cause);
    await pause(CHECK_MS);
  }
}

interface TransactionStatus {
  readonly status: string | null;
  /** Whether the server has run since the transaction. */
  readonly isSameServer: boolean;
}

async function askStatus(
  pool: PgPool,
  { xid, pid, serverStart }: TransactionIdentity,
  deadline: number,
  endsBackend: boolean,
): Promise<TransactionStatus> {
  const client = await acquireClient(pool, deadline);
  let isBroken = true;
  try {
    const { rows } = await client.query({ text: statusSql, values: [xid] });
    const found = rows[0] as { status: string | null; serverStart: string };
    const isSameServer = found.serverStart === serverStart;
    if (found.status === "in progress" && isSameServer && endsBackend)
      await client.query({ text: endBackendSql, values: [pid, xid] });
    isBroken = false;
    // Another transaction has the number by now: ours was lost with the server.
    if (found.status === "in progress" && !isSameServer) return { status: "aborted", isSameServer };
    return { status: found.status, isSameServer };
  } catch (error) {
    // After a fail-over, the new server has never seen a transaction that the old one lost.
    if (getErrorCode(error) !== UNKNOWN_TRANSACTION) throw error;
    isBroken = false;
    return { status: "aborted", isSameServer: false };
  } finally {
    client.release(isBroken);
  }
}
