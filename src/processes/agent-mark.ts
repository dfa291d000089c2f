/** Set in the environment of every process that an agent's tool starts. */
export const AGENT_MARK = "POSTRIDER_RUN_BY_AGENT";

/**
 * Shell code that marks the shell and all its descendants by a hard limit, which only CAP_SYS_RESOURCE can raise. Linux
 * ignores the limit on file locks, so it limits nothing. The option is -x in bash and -w in dash.
 */
export const SET_LIMIT_MARK = "{ ulimit -x 1000000000 || ulimit -w 1000000000; } 2>/dev/null";

export const PS_ARGUMENTS: readonly string[] = ["-A", "-o", "pid=,ppid=,command="];

/**
 * Whether an agent's tool started this process, directly or through others. On Linux, neither an empty environment nor a
 * new session nor the exit of the parents removes the limit. The environment of a process is read as it was at its start.
 */
export function isRunByAgent(environment: Readonly<Record<string, string | undefined>>): boolean {
  if (environment[AGENT_MARK] !== undefined) return true;
  if (process.platform !== "linux") return isKeeperDescendant(listProcesses(), process.pid);
  for (let pid = process.pid; pid > 0; pid = readParentPid(pid))
    if (hasLimitMark(pid) || hasMark(pid)) return true;
  return false;
}

/** Whether a keeper is an ancestor, by the output of `ps`: pid, pid of the parent, command. */
export function isKeeperDescendant(listing: string, pid: number): boolean {
  const all = new Map(
    [...listing.matchAll(/^ *(\d+) +(\d+) +(.*)$/gm)].map(([, own, parent, command = ""]) => [
      Number(own),
      { parent: Number(parent), command },
    ]),
  );
  for (let at = all.get(pid); at !== undefined; at = all.get(at.parent)) {
    if (/^postrider keeper\b|\/apps\/keeper\.[jt]s /.test(at.command)) return true;
    if (at.parent <= 1) return false;
  }
  return false;
}

/** Empty if there is no ps. */
function listProcesses(): string {
  const { stdout } = process
    .getBuiltinModule("node:child_process")
    .spawnSync("ps", PS_ARGUMENTS, { encoding: "utf8", env: { PATH: "/bin:/usr/bin" } });
  return stdout ?? "";
}

function hasLimitMark(pid: number): boolean {
  const hard = /^Max file locks +\S+ +(\S+)/m.exec(readProc(pid, "limits"))?.[1];
  return hard !== undefined && hard !== "unlimited";
}

function hasMark(pid: number): boolean {
  return `\0${readProc(pid, "environ")}`.includes(`\0${AGENT_MARK}=`);
}

/** 0 above the first process, and if the parent is unknown. */
function readParentPid(pid: number): number {
  // The name of a process can contain any character, also brackets.
  const [, , parent] = /^\d+ \(.*\) (\S) (\d+)/s.exec(readProc(pid, "stat")) ?? [];
  return Number(parent ?? 0);
}

/** Empty if the process is gone or belongs to another user. */
function readProc(pid: number, name: string): string {
  try {
    return process.getBuiltinModule("node:fs").readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
}
