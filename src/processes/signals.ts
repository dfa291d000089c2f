import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";

/** Sends a signal to a child that was started in its own group (`detached`), and to the whole group. */
export function signalGroup({ pid }: Pick<ChildProcess, "pid">, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // The group is empty.
  }
}

/** `SIGTERM` for 15. */
export function getSignalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
}
