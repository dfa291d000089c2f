import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
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
  // Ticks count from boot, so the same number can occur again after a restart.
  return stat === undefined ? undefined : `${getBootId()}/${stat.startTicks}`;
}

/** Whether exactly this process runs. A zombie does not. */
export function isAlive({ pid, startTime }: ProcessInstance): boolean {
  if (process.platform === "linux" && readProcStat(pid)?.isZombie !== false) return false;
  return readStartTime(pid) === startTime;
}

/** The start time in ticks since boot; `ended` for a zombie, `undefined` if there is no such process or no `/proc`. */
export function readStartTicks(pid: number): string | undefined {
  const stat = readProcStat(pid);
  return stat?.isZombie ? "ended" : stat?.startTicks;
}

let boot: string | undefined;

/** Changes when the machine restarts. */
export function getBootId(): string {
  boot ??= readBootId() ?? `up-since-${Math.round((Date.now() / 1000 - uptime()) / 10)}`;
  return boot;
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
