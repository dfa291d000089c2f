import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { uptime } from "node:os";
import { readProcStat } from "./proc-stat.ts";

/** Identifies a process. A pid alone is not enough, because the system reuses it. */
export interface ProcessInstance {
  readonly pid: number;
  readonly startTime: string;
}

/** The start time that the kernel reports, also for a zombie. `undefined` if there is no such process. */
export function readStartTime(pid: number): string | undefined {
  if (process.platform !== "linux") return readStartTimeFromPs(pid);
  const stat = readProcStat(pid);
  // Ticks count from boot, so the same number can occur again after a restart, or in another container.
  return stat === undefined ? undefined : `${getPidScope()}/${stat.startTicks}`;
}

/** Whether exactly this process runs. A zombie does not. */
export function isAlive({ pid, startTime }: ProcessInstance): boolean {
  if (process.platform === "linux" && readProcStat(pid)?.isZombie !== false) return false;
  return matchesStartTime(readStartTime(pid), startTime);
}

/** Whether the pid is that of another process: it was reused, or it belongs to another pid namespace. */
export function isOtherProcess({ pid, startTime }: ProcessInstance): boolean {
  const scope = startTime.slice(0, Math.max(0, startTime.lastIndexOf("/")));
  if (scope !== "" && !isOwnPidScope(scope)) return true;
  const found = readStartTime(pid);
  return found !== undefined && !matchesStartTime(found, startTime);
}

/** Earlier versions stored the start time without the namespace. */
function matchesStartTime(found: string | undefined, stored: string): boolean {
  return found !== undefined && (found === stored || found.replace(`/${getPidNamespace()}/`, "/") === stored);
}

/** The start time in ticks since boot; `ended` for a zombie, `undefined` if there is no such process or no `/proc`. */
export function readStartTicks(pid: number): string | undefined {
  const stat = readProcStat(pid);
  return stat?.isZombie ? "ended" : stat?.startTicks;
}

/** Identifies the processes among which a pid is unique: the boot and the pid namespace. Containers share the boot. */
export function getPidScope(): string {
  const namespace = getPidNamespace();
  return namespace === "" ? getBootId() : `${getBootId()}/${namespace}`;
}

/** Whether the pids of this scope are those that this process sees. Earlier versions stored the boot alone. */
export function isOwnPidScope(scope: string): boolean {
  return scope === getPidScope() || scope === getBootId();
}

let boot: string | undefined;

/** Changes when the machine restarts. */
function getBootId(): string {
  boot ??= readBootId() ?? `up-since-${Math.round((Date.now() / 1000 - uptime()) / 10)}`;
  return boot;
}

let pidNamespace: string | undefined;

/** Such as `pid:[4026531836]`; empty where there is none. */
function getPidNamespace(): string {
  pidNamespace ??= readPidNamespace();
  return pidNamespace;
}

function readPidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return ""; // not Linux, or a kernel without namespaces
  }
}

function readBootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined; // not Linux
  }
}

function readStartTimeFromPs(pid: number): string | undefined {
  try {
    const output = execFileSync("ps", ["-o", "state=,lstart=", "-p", String(pid)], {
      encoding: "utf8",
      env: { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" },
    });
    const [state = "Z", ...start] = output.trim().split(/\s+/);
    return state.startsWith("Z") ? undefined : start.join(" ");
  } catch {
    return undefined; // ps fails if there is no such process
  }
}
