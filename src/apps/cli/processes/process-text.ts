import type { Exit, Process } from "../../../core/process.ts";

/** Formats an exit: `exit 0`, a signal name or `exit unknown`. */
export function formatExitStatus(exit: Exit): string {
  if ("code" in exit) return `exit ${exit.code}`;
  return "signal" in exit ? exit.signal : "exit unknown";
}

/** Formats the state of a process. */
export function formatProcessState({ status }: Process): string {
  if (status.state === "ended") return formatExitStatus(status.exit);
  return status.state === "running" && status.detached ? "detached" : status.state;
}

/** Formats the number of running processes; undefined for none. */
export function formatRunningCount(count: number): string | undefined {
  if (count === 0) return undefined;
  return count === 1 ? "1 running in the background" : `${count} running in the background`;
}
