import type { ChildProcess } from "node:child_process";

/** To a child that was started in a group of its own (`detached`), and all that it has started. */
export function signalGroup({ pid }: Pick<ChildProcess, "pid">, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}
