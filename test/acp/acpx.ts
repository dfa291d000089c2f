import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestContext } from "vitest";
import { look } from "../support/database.ts";
import { temporaryFolder } from "../support/folder.ts";
import { linesOf, type Tapped, type WireMessage } from "./wire.ts";

const BIN = fileURLToPath(new URL("../../bin/postrider.mjs", import.meta.url));
const CLI = fileURLToPath(new URL("../../node_modules/acpx/dist/cli.js", import.meta.url));
const TAP = fileURLToPath(new URL("wiretap.ts", import.meta.url));
const SCRIPT = fileURLToPath(new URL("script.json", import.meta.url));
/** acpx starts often, so the tests share one compile cache of Node. */
const CACHED = { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache") };
/** How long a process without a client may take to end. */
const PATIENCE_MS = 10_000;

export interface AcpxOptions {
  /** The agent; by default the script beside this file. */
  readonly agent?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Records the messages of the protocol; `without-resume` also hides the resume capability from acpx. */
  readonly tap?: "as-it-is" | "without-resume";
}

/** acpx, a third-party client of the protocol, with its own folders and `postrider acp` as its agent. */
export interface Acpx {
  /** The working directory. */
  readonly folder: string;
  /** The home of Postrider. */
  readonly home: string;
  readonly database: string;
  start(...args: readonly string[]): AcpxRun;
  /** Runs a command to its end, whatever its exit code. */
  run(...args: readonly string[]): Promise<AcpxEnd>;
  /** Runs a command to its end and returns its output. Rejects if it fails. */
  done(...args: readonly string[]): Promise<string>;
  /** Creates a session with this name, or resumes this one. Returns the id. */
  begin(name: string, id?: string): Promise<string>;
  /** Like `done`, but returns the messages of the protocol. */
  wire(...args: readonly string[]): Promise<readonly WireMessage[]>;
  /** The messages of a session that acpx has stored. */
  read(name: string): Promise<readonly string[]>;
  /** Kills the running `postrider acp` and waits for its end. */
  killAgent(): Promise<void>;
  /** All recorded messages of the protocol. */
  tapped(): readonly Tapped[];
}

export interface AcpxEnd {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface AcpxRun {
  readonly pid: number;
  /** Resolves when the process has printed this; rejects if it ends without it. */
  printed(text: string): Promise<void>;
  readonly ended: Promise<AcpxEnd>;
}

/** All processes end with the test, which fails if a `postrider acp` does not end with its client. */
export function openAcpx({ onTestFinished }: TestContext, options: AcpxOptions = {}): Acpx {
  const temporary = temporaryFolder();
  const root = realpathSync(temporary.path);
  const [folder, home, own, tap] = ["work", "home", "own", "tap"].map((name) => join(root, name)) as Desk;
  for (const made of [folder, own]) mkdirSync(made);
  const database = join(home, "postrider.db");
  const { agent = `script:${SCRIPT}` } = options;
  const tapping = options.tap === undefined ? [] : [process.execPath, TAP, tap, options.tap];
  const command = [...tapping, process.execPath, BIN, "acp", "--agent", agent];
  const clients = new Set<ChildProcess>();

  function start(...args: readonly string[]): AcpxRun {
    const given = ["--agent", command.map((word) => `"${word}"`).join(" "), "--cwd", folder, "--ttl", "60"];
    const child = spawn(process.execPath, [CLI, ...given, ...args], {
      cwd: folder,
      env: { ...process.env, ...CACHED, HOME: own, POSTRIDER_HOME: home, ...options.environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    clients.add(child);
    const looks = new Set<() => void>();
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (data: string) => {
      out += data;
      for (const see of [...looks]) see();
    });
    child.stderr.setEncoding("utf8").on("data", (data: string) => {
      err += data;
    });
    const ended = new Promise<AcpxEnd>((resolve) =>
      child.on("close", (code) => {
        clients.delete(child);
        resolve({ code, out, err });
      }),
    );
    return {
      pid: child.pid ?? 0,
      ended,
      printed: (text) =>
        new Promise((resolve, reject) => {
          const see = (): void => {
            if (!out.includes(text)) return;
            looks.delete(see);
            resolve();
          };
          looks.add(see);
          void ended.then(() => reject(new Error(`acpx ended without "${text}": ${out}${err}`)));
          see();
        }),
    };
  }
  const run = (...args: readonly string[]): Promise<AcpxEnd> => start(...args).ended;
  const done = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await run(...args);
    if (code !== 0) throw new Error(`acpx ${args.join(" ")} ended with ${code}: ${out}${err}`);
    return out;
  };

  onTestFinished(async () => {
    const owners = ownersIn(own);
    const begun = [...owners, ...[...clients].flatMap(({ pid }) => pid ?? [])];
    const agents = processesBelow(begun);
    begun.forEach(kill);
    try {
      await gone([...begun, ...agents, ...runnersIn(database)]);
    } finally {
      agents.forEach(kill);
      rmSync(socketsOf(own), { recursive: true, force: true });
      temporary.remove();
    }
  });

  return {
    folder,
    home,
    database,
    start,
    run,
    done,
    async begin(name, id) {
      const resumed = id === undefined ? [] : ["--resume-session", id];
      return (await done("sessions", "new", "--name", name, ...resumed)).trim();
    },
    wire: async (...args) => linesOf(await done("--format", "json", ...args)),
    async read(name) {
      const out = await done("sessions", "read", name);
      const entries = out.trimEnd().split("\n").slice(1);
      return entries.map((entry) => entry.split("\t").slice(1).join(": "));
    },
    async killAgent() {
      const running = runnersIn(database).filter(isRunning);
      if (running.length !== 1) throw new Error(`${running.length} agents run, not one`);
      running.forEach(kill);
      await gone(running);
    },
    tapped: () => linesOf(readFileSync(tap, "utf8")),
  };
}

type Desk = [folder: string, home: string, own: string, tap: string];

/** The processes that keep agents of acpx running between two calls. */
function ownersIn(own: string): number[] {
  const queues = join(own, ".acpx", "queues");
  if (!existsSync(queues)) return [];
  const locks = readdirSync(queues).filter((name) => name.endsWith(".lock"));
  return locks.map((name) => (JSON.parse(readFileSync(join(queues, name), "utf8")) as { pid: number }).pid);
}

/** The folder of acpx's sockets, which ignores TMPDIR. */
function socketsOf(own: string): string {
  return join("/tmp", `acpx-${createHash("sha256").update(own).digest("hex").slice(0, 10)}`);
}

/** The processes with a runner in the home that has not retired. */
function runnersIn(database: string): number[] {
  if (!existsSync(database)) return [];
  return look(database, (db) => db.prepare("select pid from runners").pluck().all() as number[]);
}

function processesBelow(parents: readonly number[]): number[] {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number));
  const children = pairs.filter(([, parent = 0]) => parents.includes(parent)).map(([pid = 0]) => pid);
  return children.length === 0 ? [] : [...children, ...processesBelow(children)];
}

function kill(pid: number): void {
  signal(pid, "SIGKILL");
}

function isRunning(pid: number): boolean {
  return signal(pid, 0);
}

/** False when there is no such process. */
function signal(pid: number, which: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, which);
  } catch {
    return false;
  }
}

/** They are not our children, so only polling works. */
async function gone(pids: readonly number[]): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  for (let left = pids.filter(isRunning); left.length > 0; left = left.filter(isRunning)) {
    if (Date.now() > until) throw new Error(`still running: ${left.join(", ")}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
