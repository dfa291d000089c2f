import type { Exit, Process } from "../../../core/process.ts";

/** `exit 0`, as the kernel said it. */
export function formatExitStatus(exit: Exit): string {
  if ("code" in exit) return `exit ${exit.code}`;
  return "signal" in exit ? exit.signal : "exit unknown";
}

/** How a process is, in a word or two. */
export function formatProcessState({ status }: Process): string {
  if (status.state === "ended") return formatExitStatus(status.exit);
  return status.state === "running" && status.detached ? "detached" : status.state;
}

/** `2 background processes run`, or nothing to say. */
export function formatRunningCount(count: number): string | undefined {
  if (count === 0) return undefined;
  return count === 1 ? "1 runs in the background" : `${count} run in the background`;
}
