import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { resolveHome } from "../../src/apps/home.ts";
import { getLogFile } from "../../src/apps/log/open-log.ts";
import { sqliteStore } from "../../src/index.ts";
import { listProcStats } from "../../src/system/proc-stat.ts";
import { isAlive, readStartTime } from "../../src/system/process-identity.ts";
import { pause } from "./keeper-room.ts";

/** Ends the keeper of a home and its processes, and returns when none of them runs. */
export async function endKeeper(folder: string): Promise<void> {
  const programs = await programsOf(folder);
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const until = performance.now() + 10_000;
    while (keepersOf(folder).length > 0 && performance.now() < until) {
      for (const pid of keepersOf(folder)) end(pid, signal);
      await pause();
    }
  }
  for (const { pid, group, session } of listProcStats())
    if (pid > 1 && (programs.has(group) || programs.has(session))) end(pid, "SIGKILL");
}

/** The pids of processes whose stderr is the keeper log of this home, also of a keeper that is just starting. */
export function keepersOf(folder: string): readonly number[] {
  const log = getLogFile({ folder }, "keeper");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(join("/proc", pid, "fd", "2")) === log;
      } catch {
        return false; // ended, or of another user
      }
    })
    .map(Number);
}

/** The pids of all processes that are stored as running. */
async function programsOf(folder: string): Promise<ReadonlySet<number>> {
  const { database: file } = resolveHome({ POSTRIDER_HOME: folder });
  if (!existsSync(file)) return new Set();
  const store = await sqliteStore({ file, mode: "in-process" });
  try {
    const rows = await store.processes.listProcesses({
      asker: { everyone: true },
      foreground: true,
      limit: 200,
    });
    const places = rows.flatMap(({ status }) => (status.state === "running" ? [status] : []));
    return new Set(places.filter(isAlive).map(({ pid }) => pid));
  } finally {
    await store.close();
  }
}

function end(pid: number, signal: NodeJS.Signals): void {
  if (readStartTime(pid) === undefined) return;
  try {
    process.kill(pid, signal);
  } catch {
    // has already ended
  }
}
