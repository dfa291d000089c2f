import { PostriderError } from "../core/errors.ts";
import type { Store } from "../ports/store.ts";
import type { PostgresOptions } from "../stores/postgres/options.ts";
import type { SqliteOptions } from "../stores/sqlite/store.ts";
import type { Home } from "./home.ts";

// No static import of a store: a short command loads only the one that it opens.

/** Where a home keeps its data: in its own database file, or on a PostgreSQL server that several machines share. */
export type StoreAddress =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string };

export interface OpenStoreOptions extends Pick<SqliteOptions, "mode" | "onLost"> {
  readonly home: Home;
  readonly environment: NodeJS.ProcessEnv;
}

/** Opens the store of a home, as `POSTRIDER_STORE` or `store` in the home's config.yaml says. */
export async function openHomeStore({ home, environment, mode, onLost }: OpenStoreOptions): Promise<Store> {
  const address = await findStoreAddress(home, environment);
  if (address.kind === "postgres") return openPostgres(address.url);
  const { sqliteStore } = await import("../stores/sqlite/store.ts");
  return sqliteStore({
    file: address.file,
    ...(mode !== undefined && { mode }),
    ...(onLost !== undefined && { onLost }),
  });
}

export async function findStoreAddress(
  home: Pick<Home, "folder" | "database">,
  environment: NodeJS.ProcessEnv,
): Promise<StoreAddress> {
  const own: StoreAddress = { kind: "sqlite", file: home.database };
  const given = environment.POSTRIDER_STORE || (await readConfiguredStore(home));
  return given ? { kind: "postgres", url: checkPostgresUrl(given) } : own;
}

/** Whether several machines can share the store of a home. */
export async function isSharedStore(home: Home, environment: NodeJS.ProcessEnv): Promise<boolean> {
  return (await findStoreAddress(home, environment)).kind === "postgres";
}

/** For commands that work on the database file itself. */
export async function requireSqlite(
  home: Home,
  environment: NodeJS.ProcessEnv,
  command: string,
  instead: string,
): Promise<void> {
  if (!(await isSharedStore(home, environment))) return;
  throw new PostriderError(
    "not_allowed",
    `postrider ${command} works on a database file, and this home keeps its data on PostgreSQL. ${instead}`,
  );
}

/** The YAML parser is loaded only if the file has the setting. */
async function readConfiguredStore(home: Pick<Home, "folder">): Promise<string | undefined> {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  let text: string;
  try {
    text = readFileSync(`${home.folder}/config.yaml`, "utf8");
  } catch {
    return undefined; // there is none, or the command that reads it reports the problem
  }
  if (!/^["']?store["']?\s*:/m.test(text)) return undefined;
  const { loadConfig } = await import("./config/load-config.ts");
  const { resolveHome } = await import("./home.ts");
  const location = { home: resolveHome({ POSTRIDER_HOME: home.folder }), cwd: home.folder, environment: {} };
  return loadConfig(location).config.store;
}

function checkPostgresUrl(address: string): string {
  if (/^postgres(?:ql)?:\/\//.test(address)) return address;
  // The address may contain a password.
  throw new PostriderError(
    "invalid_config",
    "The store must be an address like postgres://user:password@host/database. Without one, the home's own database file is used.",
  );
}

/** Options of the store that are not options of the connection. */
const STORE_PARAMETERS = ["schema", "pool_size", "pooler"] as const;

export async function openPostgres(address: string): Promise<Store> {
  await prepareAsyncTwin();
  const { openPostgresStore } = await import("../stores/postgres/store.ts");
  return openPostgresStore(readPostgresAddress(address));
}

/** The options of the store in an address like `postgres://user@host/database?schema=team`. */
export function readPostgresAddress(address: string): PostgresOptions {
  const { url, schema, pool_size, pooler } = splitAddress(address);
  return {
    url,
    ...(schema !== undefined && { schema }),
    ...(pool_size !== undefined && { poolSize: readWholeNumber("pool_size", pool_size) }),
    ...(pooler !== undefined && { pooler: readPooler(pooler) }),
  };
}

type StoreParameters = Partial<Record<(typeof STORE_PARAMETERS)[number], string>>;

/** Takes the store's own parameters out of the address. */
function splitAddress(address: string): { readonly url: string } & StoreParameters {
  const at = address.indexOf("?");
  if (at === -1) return { url: address };
  const parameters = new URLSearchParams(address.slice(at + 1));
  const own: StoreParameters = {};
  for (const name of STORE_PARAMETERS) {
    const value = parameters.get(name);
    if (value === null) continue;
    own[name] = value;
    parameters.delete(name);
  }
  const rest = parameters.toString();
  return { url: `${address.slice(0, at)}${rest === "" ? "" : `?${rest}`}`, ...own };
}

function readWholeNumber(name: string, text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new PostriderError("invalid_config", `${name} in the address of the store must be a whole number.`);
}

function readPooler(text: string): "none" | "transaction" {
  if (text === "none" || text === "transaction") return text;
  throw new PostriderError(
    "invalid_config",
    "pooler in the address of the store must be none or transaction.",
  );
}

/** In a clone, the store on PostgreSQL is derived from its sources first; the published package contains it. */
export async function prepareAsyncTwin(): Promise<void> {
  if (!import.meta.url.endsWith(".ts")) return;
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const { fileURLToPath } = process.getBuiltinModule("node:url");
  const script = fileURLToPath(new URL("../../scripts/make-async.ts", import.meta.url));
  const made = spawnSync(process.execPath, [script], { encoding: "utf8" });
  if (made.status !== 0) throw new PostriderError("internal", `${script} failed: ${made.stderr}`);
}
