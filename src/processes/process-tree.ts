import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { listProcStats } from "../system/proc-stat.ts";
import { isOtherProcess } from "../system/process-identity.ts";
import type { ManagedProcess } from "./backend.ts";

const MARK = "POSTRIDER_PROCESS";

/** Set in the environment of a command, and so of all its descendants: they are found even in another session. */
export function buildMarkEnvironment(id: string): Readonly<Record<string, string>> {
  return { [MARK]: id };
}

/** A process of the machine. */
export interface SystemProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/**
 * A process and all its descendants that still run: its session and group, their children, and processes with its mark in
 * the environment, even in a session of their own and without their parent. Zombies do not count.
 */
export function findProcessTree(root: ManagedProcess): readonly SystemProcess[] {
  const all =
    process.platform === "linux" ? listProcStats().filter(({ isZombie }) => !isZombie) : listProcessesByPs();
  const members = new Set<number>();
  // While a member of the group or the session lives, the kernel assigns its number to no other process.
  const isOther = isOtherProcess(root);
  for (const candidate of all) {
    const isOfSession = [candidate.pid, candidate.group, candidate.session].includes(root.pid);
    if ((isOfSession && !isOther) || hasMark(candidate.pid, root.id)) members.add(candidate.pid);
  }
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid);
  }
  members.delete(process.pid);
  return all.filter(({ pid }) => members.has(pid));
}

/** Linux shows the environment of a user's own processes, as it was at their start. */
function hasMark(pid: number, id: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(`${MARK}=${id}`);
  } catch {
    return false; // another user's process, or gone
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
