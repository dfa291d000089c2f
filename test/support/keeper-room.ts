import { chmodSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { launchKeeper } from "../../src/apps/launch-keeper.ts";
import { type Process, processIdFrom } from "../../src/core/process.ts";
import {
  buildRouting,
  NO_RESET,
  type Source,
  type Store,
  sqliteStore,
  systemClock,
} from "../../src/index.ts";
import { type ConnectProcessesOptions, connectProcesses } from "../../src/processes/client.ts";
import type { Processes, StartProcessInput } from "../../src/processes/processes.ts";
import { resolveSocketPath } from "../../src/processes/socket-path.ts";
import { listProcStats } from "../../src/system/proc-stat.ts";
import { isAlive, readStartTime } from "../../src/system/process-identity.ts";
import { temporaryFolder } from "./folder.ts";
import { writeNewDatabase } from "./new-database.ts";

const SOURCE: Source = { platform: "local", chatType: "dm", chatId: "cli" };

/** A home with a real keeper of processes. All processes end with the test. */
export interface KeeperRoom {
  readonly home: { readonly folder: string };
  readonly store: Store;
  readonly socket: string;
  readonly processes: Processes;
  /** Starts a command with these options. */
  input(command: string, more?: Partial<StartProcessInput>): StartProcessInput;
  start(command: string, more?: Partial<StartProcessInput>): Promise<Process>;
  row(id: string): Promise<Process>;
  /** Resolves with the row as soon as the condition is true. */
  until(id: string, isSo: (row: Process, printed: string) => boolean): Promise<Process>;
  ended(id: string): Promise<Process>;
  printed(id: string): Promise<string>;
  /** Another client of the same keeper. */
  client(options?: Partial<ConnectProcessesOptions>): Processes;
  keeperPid(): Promise<number | undefined>;
  /** Kills the keeper, and returns when it has ended. */
  killKeeper(): Promise<void>;
}

export interface RoomOptions {
  /** For keepers in the process of the test. */
  readonly launch?: () => void;
}

export async function keeperRoom({ launch }: RoomOptions = {}): Promise<KeeperRoom> {
  const folder = temporaryFolder();
  chmodSync(folder.path, 0o700);
  const home = { folder: folder.path };
  const file = join(folder.path, "postrider.db");
  await writeNewDatabase(file);
  const store = await sqliteStore({ file, mode: "in-process" });
  const settings = {
    zone: "UTC",
    profile: "main",
    reset: { default: NO_RESET, byType: {}, byPlatform: {} },
    scope: {},
    clock: systemClock,
  };
  const { session, conversation } = await store.conversations.open(buildRouting(SOURCE, settings));
  const socket = resolveSocketPath(home.folder);
  const clients: Processes[] = [];
  const pids = new Set<number>();
  const keepers = new Set<number>();

  function client(options: Partial<ConnectProcessesOptions> = {}): Processes {
    const made = connectProcesses({
      store,
      clock: systemClock,
      socket,
      launch: launch ?? (() => void keepers.add(launchKeeper(home) ?? 0)),
      ...options,
    });
    clients.push(made);
    return made;
  }

  async function keeperPid(): Promise<number | undefined> {
    const held = await store.runners.listLeases({ now: Date.now() });
    const pid = held.find(({ name }) => name === "keeper")?.runner.pid;
    if (pid !== undefined && pid !== process.pid) keepers.add(pid);
    return pid;
  }

  async function killKeeper(): Promise<void> {
    const pid = await keeperPid();
    if (pid === undefined || pid === process.pid) return;
    const born = readStartTime(pid) ?? "";
    process.kill(pid, "SIGKILL");
    while (isAlive({ pid, startTime: born })) await pause();
  }

  async function row(id: string): Promise<Process> {
    const found = await store.processes.getProcess({ asker: { everyone: true }, id });
    if (found === undefined) throw new Error(`there is no process ${id}`);
    if (found.status.state === "running") pids.add(found.status.pid);
    return found;
  }

  async function printed(id: string): Promise<string> {
    return (await store.processes.readProcessOutput({ asker: { everyone: true }, id }))?.text ?? "";
  }

  async function until(id: string, isSo: (row: Process, printed: string) => boolean): Promise<Process> {
    // Other processes write these rows, so this polls.
    for (;;) {
      const now = await row(id);
      if (isSo(now, await printed(id))) return now;
      if (now.status.state === "ended" && isSo(await row(id), await printed(id)) === false)
        throw new Error(
          `${id} ended before: ${JSON.stringify(now.status)} ${(await printed(id)).slice(-500)}`,
        );
      await pause();
    }
  }

  const processes = client();
  function input(command: string, more: Partial<StartProcessInput> = {}): StartProcessInput {
    return {
      id: processIdFrom(systemClock.random(6)),
      command,
      cwd: home.folder,
      background: true,
      pty: false,
      watch: { mode: "off", patterns: [], wakes: false },
      session: session.id,
      conversation: conversation.number,
      target: SOURCE,
      environment: { PATH: process.env.PATH ?? "" },
      secrets: [],
      ...more,
    };
  }

  onTestFinished(async () => {
    await Promise.all(clients.map((one) => one.close()));
    await killKeeper();
    for (const pid of keepers) if (pid > 1) kill(pid);
    const open = await store.processes.listProcesses({
      asker: { everyone: true },
      foreground: true,
      limit: 200,
    });
    for (const { status } of open) if (status.state === "running") pids.add(status.pid);
    for (const { pid, group, session: of } of listProcStats())
      if (pid > 1 && (pids.has(group) || pids.has(of))) kill(pid);
    await store.close();
    folder.remove();
  });

  return {
    home,
    store,
    socket,
    processes,
    input,
    async start(command, more) {
      const begun = await processes.start(input(command, more));
      await keeperPid();
      return row(begun.id);
    },
    row,
    until,
    ended: (id) => until(id, ({ status }) => status.state === "ended"),
    printed,
    client,
    keeperPid,
    killKeeper,
  };
}

export function pause(ms = 15): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // has already ended
  }
}
