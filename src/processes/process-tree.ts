import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { listProcStats } from "../system/proc-stat.ts";
import { readStartTime } from "../system/process-identity.ts";
import type { ManagedProcess } from "./backend.ts";

const MARK = "POSTRIDER_PROCESS";

/** In the environment of a command, and so of all that it starts: by this it is found wherever it has gone. */
export function buildMarkEnvironment(id: string): Readonly<Record<string, string>> {
  return { [MARK]: id };
}

/** One of the processes of the machine. */
export interface SystemProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/**
 * A process and all that it has started and that still run: its session and group, their children, and
 * whoever has its mark in the environment, though it made a session of its own and its parent is gone. Zombies do not run.
 */
export function findProcessTree(program: ManagedProcess): readonly SystemProcess[] {
  const all =
    process.platform === "linux" ? listProcStats().filter(({ isZombie }) => !isZombie) : listProcessesByPs();
  const members = new Set<number>();
  // While anybody of the group or the session lives, the kernel gives its number to nobody else.
  const isOther = isOtherProcess(program);
  for (const one of all) {
    const isOfSession = [one.pid, one.group, one.session].includes(program.pid);
    if ((isOfSession && !isOther) || hasMark(one.pid, program.id)) members.add(one.pid);
  }
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid);
  }
  members.delete(process.pid);
  return all.filter(({ pid }) => members.has(pid));
}

function isOtherProcess({ pid, startTime }: ManagedProcess): boolean {
  const now = readStartTime(pid);
  return now !== undefined && now !== startTime;
}

/** Linux tells the environment of a user's own processes, as it was when they began. */
function hasMark(pid: number, id: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(`${MARK}=${id}`);
  } catch {
    return false; // somebody else's, or gone
  }
}

function listProcessesByPs(): readonly SystemProcess[] {
  const options = { encoding: "utf8", env: { PATH: "/bin:/usr/bin", LC_ALL: "C" } } as const;
  return execFileSync("ps", ["-axo", "pid=,ppid=,pgid=,state="], options)
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state = "Z"]) => !state.startsWith("Z"))
    .map(([pid, parent, group]) => ({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: 0,
    }));
}
