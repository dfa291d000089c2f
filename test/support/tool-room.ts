import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { source } from "../../src/core/source.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Log } from "../../src/ports/log.ts";
import type { Store } from "../../src/ports/store.ts";
import type { Tool } from "../../src/ports/tool.ts";
import { buildChildEnvironment } from "../../src/processes/child-environment.ts";
import { connectProcesses } from "../../src/processes/client.ts";
import { runKeeper } from "../../src/processes/keeper.ts";
import { localBackend } from "../../src/processes/local-backend.ts";
import type { Processes } from "../../src/processes/processes.ts";
import { resolveSocketPath } from "../../src/processes/socket-path.ts";
import { createSessions } from "../../src/sessions/sessions.ts";
import { sqliteStore } from "../../src/stores/sqlite/store.ts";
import { localRunner } from "../../src/system/local-runner.ts";
import { isAlive as isThere, readStartTime } from "../../src/system/process-identity.ts";
import { systemClock } from "../../src/system/system-clock.ts";
import { readReadableOutput } from "../../src/tools/readable-output.ts";
import type { ToolContext } from "../../src/tools/tool-context.ts";
import { temporaryFolder } from "./folder.ts";
import { writeNewDatabase } from "./new-database.ts";

/** A home with a real keeper of processes, for calls of tools. */
export interface ToolRoom {
  readonly store: Store;
  readonly processes: Processes;
  readonly clock: Clock;
  /** A tool context with a new conversation and a new folder, of the owner or of this account in a messenger. */
  context(more?: Partial<ToolContext>, account?: string): Promise<ToolContext>;
  call(tool: Tool, given: unknown, signal?: AbortSignal): Promise<Called>;
  json(called: Called): Readonly<Record<string, unknown>>;
  /** The first group of the pattern, as soon as a process of this context has printed it. */
  printed(context: ToolContext, pattern: RegExp): Promise<string>;
  /** Kills the keeper. Only with `apart`. */
  killKeeper(): Promise<void>;
  /** Kills the keeper and deletes the files of its processes. */
  loseKeeper(): Promise<void>;
  /** Resolves when no process that was started here runs any more. */
  close(): Promise<void>;
}

export interface Called {
  readonly text: string;
  readonly failed: boolean;
}

const KEEPER = new URL("../../src/apps/keeper.ts", import.meta.url);
const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** With `apart` the keeper is a separate process, as in a real home. */
export async function toolRoom({ apart = false } = {}): Promise<ToolRoom> {
  const folder = temporaryFolder();
  const file = join(folder.path, "postrider.db");
  const clock = systemClock;
  await writeNewDatabase(file);
  const store = await sqliteStore({ file, mode: "in-process" });
  const sessions = createSessions({ store, clock });
  const socket = resolveSocketPath(folder.path);
  const keeper = apart ? keeperApart(folder.path) : await keeperHere(file, socket);
  const processes = connectProcesses({ store, clock, socket, launch: keeper.launch });
  let conversations = 0;
  return {
    store,
    processes,
    clock,
    async context(more, account) {
      conversations += 1;
      const cwd = join(folder.path, `work-${conversations}`);
      mkdirSync(cwd);
      const platform = account === undefined ? "local" : "telegram";
      const target = source({ platform, chatId: `chat-${conversations}`, userId: account });
      const { session, conversation } = await sessions.open(target);
      return {
        store,
        clock,
        processes,
        session: session.id,
        conversation: conversation.number,
        target,
        asker: { person: session.owner },
        role: "owner",
        owner: session.owner,
        profile: "main",
        cwd,
        allowedFolders: [cwd],
        deniedFolders: [],
        environment: buildChildEnvironment(process.env),
        secrets: [],
        timeoutMs: 30_000,
        watchMode: "all",
        ...more,
      };
    },
    async call(tool, given, signal = new AbortController().signal) {
      const { parts, failed = false } = await tool.run(given, { id: "call_1", signal });
      return { text: parts.map((part) => ("text" in part ? part.text : "")).join("\n"), failed };
    },
    json: ({ text }) => JSON.parse(text) as Readonly<Record<string, unknown>>,
    async printed(context, pattern) {
      const { promise: changed, resolve } = Promise.withResolvers<string>();
      const look = async (): Promise<void> => {
        const { asker, conversation } = context;
        for (const { id } of await store.processes.listProcesses({ asker, conversation, foreground: true })) {
          const found = pattern.exec((await readReadableOutput(context, id)).text)?.[1];
          if (found !== undefined) resolve(found);
        }
      };
      const unlisten = store.onChange(() => void look());
      await look();
      return changed.finally(unlisten);
    },
    killKeeper: () => keeper.end("SIGKILL"),
    async loseKeeper() {
      // Before the kill, because a client starts the next keeper at once.
      rmSync(join(folder.path, "processes"), { recursive: true });
      await keeper.end("SIGKILL");
    },
    async close() {
      // A keeper ends only its own processes; a killed one leaves its processes to the next.
      const left = await store.processes.listProcesses({ asker: { everyone: true }, foreground: true });
      await Promise.all(left.map(({ id }) => processes.kill(id)));
      await keeper.end("SIGTERM");
      await processes.close();
      await store.close();
      folder.remove();
    },
  };
}

interface Keeper {
  launch(): void;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a keeper in this process, with a separate store. */
async function keeperHere(file: string, socket: string): Promise<Keeper> {
  const store = await sqliteStore({ file, mode: "in-process" });
  const ending = new AbortController();
  const running: Promise<void>[] = [];
  const backend = localBackend({ folder: join(dirname(file), "processes") });
  const options = { store, clock: systemClock, socket, log: SILENT, backend, graceMs: 500 };
  return {
    launch: () => void running.push(runKeeper({ ...options, runner: localRunner(), signal: ending.signal })),
    async end() {
      ending.abort();
      await Promise.all(running);
      await store.close();
    },
  };
}

function keeperApart(home: string): Keeper {
  const running = new Map<ChildProcess, Promise<unknown>>();
  return {
    launch() {
      const child = spawn(process.execPath, [fileURLToPath(KEEPER), home], { stdio: "inherit" });
      running.set(
        child,
        once(child, "exit").finally(() => running.delete(child)),
      );
    },
    async end(signal) {
      for (const child of running.keys()) child.kill(signal);
      await Promise.all(running.values());
    },
  };
}

/** Whether the process runs. A zombie does not. */
export function isAlive(pid: number): boolean {
  const born = readStartTime(pid);
  return born !== undefined && isThere({ pid, startTime: born });
}
