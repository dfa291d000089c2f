import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { readProcStat } from "./proc-stat.ts";

/** Which process is meant: a pid alone comes back, with another process behind it. */
export interface ProcessInstance {
  readonly pid: number;
  readonly startTime: string;
}

/** When a process started, as the kernel says, also if it has just ended; `undefined` when there is none. */
export function readStartTime(pid: number): string | undefined {
  if (process.platform !== "linux") return readStartTimeFromPs(pid);
  const stat = readProcStat(pid);
  // Ticks are counted from the machine's start, so the same number may come back after the next one.
  return stat === undefined ? undefined : `${getBootId()}/${stat.startTicks}`;
}

/** Whether it is this very process, and runs. One that nobody has asked yet how it ended does not. */
export function isAlive({ pid, startTime }: ProcessInstance): boolean {
  if (process.platform === "linux" && readProcStat(pid)?.isZombie !== false) return false;
  return readStartTime(pid) === startTime;
}

/** The start time in the kernel's ticks since boot; `ended` for a zombie, `undefined` where the kernel does not say. */
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
    const said = execFileSync("ps", ["-o", "state=,lstart=", "-p", String(pid)], {
      encoding: "utf8",
      env: { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" },
    });
    const [state = "Z", ...start] = said.trim().split(/\s+/);
    return state.startsWith("Z") ? undefined : start.join(" ");
  } catch {
    return undefined; // ps fails when there is no such process
  }
}
