import { readFile } from "node:fs/promises";
import { PostriderError } from "../../core/errors.ts";
import { loadOptional } from "../../system/load-optional.ts";
import type { ConnectionSettings, TlsSettings } from "./connection-url.ts";
import { findValueParser } from "./values.ts";

/** The parts of the package `pg` that this store uses. */
export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string | undefined;
  readonly rowMode?: "array";
}

export interface PgResult {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: unknown[];
}

export interface PgClient {
  connect(): Promise<void>;
  query(query: PgQuery | string): Promise<PgResult>;
  on(event: "error" | "end", listener: (error?: Error) => void): unknown;
  on(event: "notification", listener: (message: { readonly payload?: string }) => void): unknown;
  end(): Promise<void>;
  /** The socket. */
  readonly connection?: { readonly stream?: { cork?(): void; uncork?(): void } };
}

export interface PooledClient extends PgClient {
  /** `true` closes the connection. */
  release(isBroken?: boolean): void;
}

export interface PgPool {
  connect(): Promise<PooledClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect", listener: (client: PgClient) => void): unknown;
  end(): Promise<void>;
}

export interface ClientConfig {
  readonly [setting: string]: unknown;
}

interface PgModule {
  readonly Pool: new (config: ClientConfig) => PgPool;
  readonly Client: new (config: ClientConfig) => PgClient;
  readonly types: { getTypeParser(oid: number, format?: string): unknown };
}

export async function loadDriver(): Promise<PgModule> {
  const module = await loadOptional("pg", "A store on PostgreSQL", () => import("pg"));
  return module.default as unknown as PgModule;
}

export interface DriverOptions {
  readonly settings: ConnectionSettings;
  readonly applicationName: string;
  readonly connectTimeoutMs: number;
  /** A server that does not answer for this long is gone. Longer than its own time-outs. */
  readonly answerTimeoutMs: number;
  /** Sent with the connection; poolers refuse them, so they get them with each transaction. */
  readonly sessionSettings: Readonly<Record<string, number>> | undefined;
}

/** The settings of a connection, as the driver takes them. */
export async function buildClientConfig(
  { types }: PgModule,
  { settings, applicationName, connectTimeoutMs, answerTimeoutMs, sessionSettings }: DriverOptions,
): Promise<ClientConfig> {
  const { host, port, user, database, password } = settings;
  return {
    host,
    port,
    user,
    database,
    // An empty one prevents the driver from looking into the environment and ~/.pgpass.
    password: password ?? "",
    ssl: settings.tls === undefined ? false : await readTlsFiles(settings.tls, host),
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: {
      getTypeParser: (oid: number, format?: string) =>
        findValueParser(oid) ?? types.getTypeParser(oid, format),
    },
    ...sessionSettings,
  };
}

async function readTlsFiles(tls: TlsSettings, host: string): Promise<ClientConfig> {
  const [ca, cert, key] = await Promise.all(
    [tls.caFile, tls.certificateFile, tls.keyFile].map((file) => file && readPem(file)),
  );
  return {
    rejectUnauthorized: tls.isVerified,
    // A server name is a name, not an address.
    ...(/^[\d.]+$|:|^\//.test(host) ? {} : { servername: host }),
    ...(!tls.isForHost && { checkServerIdentity: () => undefined }),
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
  };
}

async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new PostriderError("invalid_config", `The file ${file} of the database's url is not readable.`, {
      cause: error,
      details: { file },
    });
  }
}
