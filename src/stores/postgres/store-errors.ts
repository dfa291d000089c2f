import { PostriderError } from "../../core/errors.ts";

const CONFLICT_CODES: ReadonlySet<string> = new Set([
  "40001", // serialization failure
  "40P01", // deadlock
  "23505", // another transaction has just stored the same key
  "23503", // another transaction has just removed the row that this one refers to
]);

/** The server ends the connection or refuses a new one, for now. */
const UNAVAILABLE_CODES: ReadonlySet<string> = new Set([
  "57P01", // shutdown
  "57P02", // crash
  "57P03", // starting up
  "57P05", // idle for too long
  "25P03", // idle in a transaction for too long
  "25006", // it has become a standby
  "53300", // too many connections
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOENT", // the socket of a server that is down
]);

/** The driver's own errors have no code. */
const UNAVAILABLE_TEXT =
  /^(?:Connection terminated|Connection ended|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed)/;
const NO_TLS_TEXT = /^The server does not support SSL/;
const POOL_TEXT = "timeout exceeded when trying to connect";

export function getErrorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/** Another write was first: the whole operation must see what it has stored, and runs again. */
export function isConflict(error: unknown): boolean {
  return CONFLICT_CODES.has(getErrorCode(error));
}

/** Nobody answered, or the connection is gone: another connection, later, may work. */
export function isUnavailable(error: unknown): boolean {
  const code = getErrorCode(error);
  if (code !== "") return UNAVAILABLE_CODES.has(code) || code.startsWith("08");
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  return error instanceof Error && UNAVAILABLE_TEXT.test(error.message);
}

/** Whether the server itself has reported that this statement failed, and is still there. */
export function isStatementError(error: unknown): boolean {
  return (error as { severity?: unknown } | null)?.severity === "ERROR" && !isUnavailable(error);
}

/** Converts errors of the server, the driver and the network. `database` names it without its password. */
export function toPostgresStoreError(error: unknown, database: string): PostriderError {
  if (error instanceof PostriderError) return error;
  const code = getErrorCode(error);
  const details = { database, code };
  if (isUnavailable(error))
    return new PostriderError("store_unavailable", describeUnavailable(error, database), {
      cause: error,
      details,
    });
  if (error instanceof Error && NO_TLS_TEXT.test(error.message))
    return new PostriderError(
      "invalid_config",
      `The server of the database ${database} has no TLS. Configure it there, or remove sslmode from the url.`,
      { cause: error, details },
    );
  const known = ERROR_TEXTS.find(({ codes }) => codes.some((prefix) => code.startsWith(prefix)));
  if (known === undefined) {
    const text = error instanceof Error ? error.message : String(error);
    return new PostriderError(
      "internal",
      `The database ${database} reported: ${text} (${code || "no code"}).`,
      {
        cause: error,
        details,
      },
    );
  }
  return new PostriderError(known.code, known.sentence(database), { cause: error, details });
}

function describeUnavailable(error: unknown, database: string): string {
  const code = getErrorCode(error);
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `The host of the database ${database} was not found. Check the host name in its url.`;
  if (code === "53300")
    return `The database ${database} has no free connection. Raise its max_connections, or use smaller pools.`;
  if (error instanceof Error && error.message.startsWith(POOL_TEXT))
    return `All connections to the database ${database} were in use for too long. Try again, or use a larger pool.`;
  return `The database ${database} does not answer (${code || "connection lost"}). Check that it runs and can be reached; it is tried again with the next call.`;
}

const ERROR_TEXTS: readonly {
  readonly codes: readonly string[];
  readonly code: PostriderError["code"];
  readonly sentence: (database: string) => string;
}[] = [
  {
    codes: ["53100"],
    code: "disk_full",
    sentence: (database) =>
      `The server of the database ${database} has no space left. Free some space and try again; no stored data was lost.`,
  },
  {
    codes: ["28"],
    code: "invalid_config",
    sentence: (database) =>
      `The database ${database} refused the login. Check the user and the password in its url.`,
  },
  {
    codes: ["3D000"],
    code: "invalid_config",
    sentence: (database) =>
      `The database ${database} does not exist on that server. Create it, or correct its url.`,
  },
  {
    codes: ["42501"],
    code: "invalid_config",
    sentence: (database) =>
      `The user of the database ${database} may not use or create its schema. Grant it the right to do so.`,
  },
  {
    codes: [
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "SELF_SIGNED",
      "UNABLE_TO",
      "CERT_",
      "ERR_TLS",
      "ERR_SSL",
      "HOSTNAME_MISMATCH",
    ],
    code: "invalid_config",
    sentence: (database) =>
      `The certificate of the database ${database} was refused. Name its authority with sslrootcert in the url.`,
  },
  {
    codes: ["55P03", "57014", "40001", "40P01"],
    code: "busy",
    sentence: (database) => `Other work kept the database ${database} locked for too long. Try again.`,
  },
  {
    codes: ["54", "53200", "22001"],
    code: "too_large",
    sentence: (database) => `The value is larger than the database ${database} allows.`,
  },
  {
    codes: ["XX001", "XX002"],
    code: "corrupt",
    sentence: (database) =>
      `The database ${database} is damaged. It was left as it is: restore it from a backup.`,
  },
];

export function createUnknownOutcomeError(database: string, cause: unknown): PostriderError {
  return new PostriderError(
    "store_unavailable",
    `The connection to the database ${database} was lost during a commit, and the database has not answered since. It is not known whether the last write was stored.`,
    { cause, details: { database, outcome: "unknown" } },
  );
}

export function createClosedStoreError(): PostriderError {
  return new PostriderError("closed", "This store is closed. Open it again to use it.");
}
