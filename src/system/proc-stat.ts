import { readdirSync, readFileSync } from "node:fs";

/** The fields of `/proc/<pid>/stat` on Linux. */
export interface ProcStat {
  readonly pid: number;
  /** The kernel's letter, such as `T` for a stopped process. */
  readonly state: string;
  readonly isZombie: boolean;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** The start time in ticks since boot. */
  readonly startTicks: string;
}

export function readProcStat(pid: number): ProcStat | undefined {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The name is in parentheses and may contain spaces and parentheses.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent, group, session] = fields;
  return {
    pid,
    state,
    isZombie: state === "Z" || state === "X",
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTicks: fields[19] ?? "",
  };
}

/** All processes. Linux only. */
export function listProcStats(): readonly ProcStat[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcStat(Number(name)))
    .filter((stat) => stat !== undefined);
}
