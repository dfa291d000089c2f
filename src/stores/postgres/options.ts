import { PostriderError } from "../../core/errors.ts";
import { parseConnectionUrl } from "./connection-url.ts";
import type { DriverOptions } from "./driver.ts";

export interface PostgresOptions {
  /**
   * `postgres://user:password@host:5432/database`. Parameters: `sslmode` (`disable`, `no-verify`, `require`, `verify-full`),
   * `sslrootcert`, `sslcert`, `sslkey`, `application_name`, `connect_timeout`.
   */
  readonly url: string;
  /** The schema with the tables; created if it does not exist. Default: `postrider`. */
  readonly schema?: string;
  /** The name of the connections in `pg_stat_activity`. Default: `postrider`. */
  readonly applicationName?: string;
  /** The maximum number of connections. One more is used while somebody listens for changes. Default: 10. */
  readonly poolSize?: number;
  /** The maximum time of one statement, in milliseconds. Default: 30,000. */
  readonly statementTimeoutMs?: number;
  /** How long a write waits for other writes to the same rows. Default: 15,000. */
  readonly lockTimeoutMs?: number;
  /** How long a call waits while the database is away or all connections are in use. Default: 30,000. */
  readonly retryMs?: number;
  /**
   * `transaction`: the url leads to a pooler such as PgBouncer in transaction mode. Then statements are not prepared by
   * name, and changes of other processes are found by polling.
   */
  readonly pooler?: "none" | "transaction";
  /** Whose time counts for heartbeats and leases. `caller` is for tests with fixed times. Default: `database`. */
  readonly clock?: "database" | "caller";
}

export interface StoreSettings {
  readonly schema: string;
  readonly poolSize: number;
  readonly retryMs: number;
  readonly isNamed: boolean;
  readonly canListen: boolean;
  readonly localSettings: string;
  readonly clock: "database" | "caller";
  readonly connection: DriverOptions;
}

/** A transaction whose process was stopped or cut off holds its locks until then. */
const IDLE_IN_TRANSACTION_MS = 10_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Identifiers of PostgreSQL are cut off after this many bytes. */
const MAX_NAME_BYTES = 63;

export function readOptions(options: PostgresOptions): StoreSettings {
  const {
    schema = "postrider",
    poolSize = 10,
    statementTimeoutMs = 30_000,
    lockTimeoutMs = 15_000,
    retryMs = 30_000,
    pooler = "none",
    clock = "database",
  } = options ?? {};
  const settings = parseConnectionUrl(options?.url);
  // The channel of notifications contains the name, too.
  if (typeof schema !== "string" || schema === "" || Buffer.byteLength(schema) > MAX_NAME_BYTES - 10)
    throw createOptionError("schema", `a name of up to ${MAX_NAME_BYTES - 10} bytes`);
  if (schema.includes("\0") || schema.startsWith("pg_"))
    throw createOptionError("schema", "a name that is not reserved");
  if (!Number.isInteger(poolSize) || poolSize < 1) throw createOptionError("poolSize", "a positive number");
  for (const [field, ms] of Object.entries({ statementTimeoutMs, lockTimeoutMs, retryMs }))
    if (!Number.isInteger(ms) || ms < 1 || ms > 2 ** 31 - 1)
      throw createOptionError(field, "a positive number of milliseconds");
  if (pooler !== "none" && pooler !== "transaction") throw createOptionError("pooler", "none or transaction");
  if (clock !== "database" && clock !== "caller") throw createOptionError("clock", "database or caller");
  const timeouts = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  };
  const isPooled = pooler === "transaction";
  return {
    schema,
    poolSize,
    retryMs,
    clock,
    isNamed: !isPooled,
    canListen: !isPooled,
    localSettings: isPooled ? formatLocalSettings(timeouts) : "",
    connection: {
      settings,
      applicationName: options.applicationName ?? settings.applicationName ?? "postrider",
      connectTimeoutMs: Math.min(settings.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, retryMs),
      answerTimeoutMs: statementTimeoutMs + Math.min(statementTimeoutMs, 5000),
      sessionSettings: isPooled ? undefined : timeouts,
    },
  };
}

function formatLocalSettings(settings: Readonly<Record<string, number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `; set local ${name} = ${value}`)
    .join("");
}

function createOptionError(field: string, expected: string): PostriderError {
  return new PostriderError("invalid_input", `${field} must be ${expected}.`, { details: { field } });
}
