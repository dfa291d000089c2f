import { readdirSync, readFileSync } from "node:fs";

/** What Linux says of a process. */
export interface ProcStat {
  readonly pid: number;
  /** A letter of the kernel, such as `T` for a stopped process. */
  readonly state: string;
  readonly isZombie: boolean;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In the kernel's ticks since the machine started. */
  readonly startTicks: string;
}

export function readProcStat(pid: number): ProcStat | undefined {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The name, in brackets, may hold spaces and brackets itself.
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

/** All that there are now; on Linux only. */
export function listProcStats(): readonly ProcStat[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcStat(Number(name)))
    .filter((stat) => stat !== undefined);
}
