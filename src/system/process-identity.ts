import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { procStat } from "./proc-stat.ts";

/** Which process is meant: a pid alone comes back, with another process behind it. */
export interface Place {
  readonly pid: number;
  readonly born: string;
}

/** When a process started, as the kernel says, also if it has just ended; `undefined` when there is none. */
export function bornOf(pid: number): string | undefined {
  if (process.platform !== "linux") return startByPs(pid);
  const stat = procStat(pid);
  // Ticks are counted from the machine's start, so the same number may come back after the next one.
  return stat === undefined ? undefined : `${bootId()}/${stat.started}`;
}

/** Whether it is this very process, and runs. One that nobody has asked yet how it ended does not. */
export function isAlive({ pid, born }: Place): boolean {
  if (process.platform === "linux" && procStat(pid)?.isZombie !== false) return false;
  return bornOf(pid) === born;
}

/** The start time in the kernel's ticks since boot; `ended` for a zombie, `undefined` where the kernel does not say. */
export function startTicks(pid: number): string | undefined {
  const stat = procStat(pid);
  return stat?.isZombie ? "ended" : stat?.started;
}

let boot: string | undefined;

/** Changes when the machine restarts. */
export function bootId(): string {
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

function startByPs(pid: number): string | undefined {
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
