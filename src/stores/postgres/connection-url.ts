import { PostriderError } from "../../core/errors.ts";

/** Where the database is, and how to reach it. */
export interface ConnectionSettings {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly tls: TlsSettings | undefined;
  readonly applicationName: string | undefined;
  readonly connectTimeoutMs: number | undefined;
}

/** File names are paths of PEM files. */
export interface TlsSettings {
  /** `false` encrypts without checking who answers. */
  readonly isVerified: boolean;
  /** Whether the certificate must be for this host. */
  readonly isForHost: boolean;
  readonly caFile: string | undefined;
  readonly certificateFile: string | undefined;
  readonly keyFile: string | undefined;
}

/** `require` checks the certificate, too: encryption towards a stranger protects nothing. */
const TLS_MODES = ["disable", "no-verify", "require", "verify-ca", "verify-full"];
const PARAMETERS = [
  "host",
  "port",
  "user",
  "dbname",
  "sslmode",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "application_name",
  "connect_timeout",
];
const DEFAULT_PORT = 5432;

/** Reads `postgres://user:password@host:port/database?sslmode=verify-full`. No error contains the url. */
export function parseConnectionUrl(text: unknown): ConnectionSettings {
  const url = typeof text === "string" ? parseUrl(text) : undefined;
  if (url === undefined || (url.protocol !== "postgres:" && url.protocol !== "postgresql:"))
    throw createUrlError("It must look like postgres://user:password@host:5432/database.");
  const parameters = url.searchParams;
  for (const name of parameters.keys())
    if (!PARAMETERS.includes(name))
      throw createUrlError(`The parameter ${name} is not supported; use ${PARAMETERS.join(", ")}.`);
  const user = decode(url.username) || parameters.get("user") || "";
  if (user === "") throw createUrlError("It has no user.");
  const port = Number(url.port || parameters.get("port") || DEFAULT_PORT);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw createUrlError("Its port is not a number.");
  const seconds = Number(parameters.get("connect_timeout") ?? 0);
  if (!Number.isFinite(seconds) || seconds < 0) throw createUrlError("connect_timeout must be in seconds.");
  return {
    host: decode(url.hostname).replace(/^\[(.*)\]$/, "$1") || parameters.get("host") || "localhost",
    port,
    user,
    password: url.password === "" ? undefined : decode(url.password),
    database: decode(url.pathname.slice(1)) || parameters.get("dbname") || user,
    tls: readTls(parameters),
    applicationName: parameters.get("application_name") ?? undefined,
    connectTimeoutMs: seconds === 0 ? undefined : seconds * 1000,
  };
}

/** For messages: the database without the password. */
export function describeDatabase({ host, port, database }: ConnectionSettings): string {
  return `${database} at ${host}:${port}`;
}

function readTls(parameters: URLSearchParams): TlsSettings | undefined {
  const mode = parameters.get("sslmode");
  if (mode === null || mode === "disable") return undefined;
  if (!TLS_MODES.includes(mode)) throw createUrlError(`sslmode must be one of ${TLS_MODES.join(", ")}.`);
  return {
    isVerified: mode !== "no-verify",
    isForHost: mode !== "verify-ca",
    caFile: parameters.get("sslrootcert") ?? undefined,
    certificateFile: parameters.get("sslcert") ?? undefined,
    keyFile: parameters.get("sslkey") ?? undefined,
  };
}

/** Not `new URL`: its error contains the text, and with it the password. */
function parseUrl(text: string): URL | undefined {
  return URL.parse(text) ?? undefined;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw createUrlError("A part of it is not encoded as a url.");
  }
}

function createUrlError(sentence: string): PostriderError {
  return new PostriderError("invalid_input", `The url of the database is not usable. ${sentence}`, {
    details: { field: "url" },
  });
}
