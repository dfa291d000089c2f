import { PostriderError } from "../core/errors.ts";
import { pause } from "../system/pause.ts";
import type { ManagedProcess } from "./backend.ts";
import { findProcessTree, type SystemProcess } from "./process-tree.ts";

const POLL_MS = 25;
/** The wrapper shell writes the exit of its command, so it is killed only if it does not exit after the command. */
const WRAPPER_MS = 1000;
/** The wait after SIGKILL: only a process that waits for a disk takes longer. */
const KILL_WAIT_MS = 5000;

/**
 * Ends a process and all its descendants: SIGTERM, and SIGKILL after the grace period, until the process list of the
 * machine contains none of them. Throws with the pids if some remain.
 */
export async function terminateProcess(root: ManagedProcess, graceMs: number): Promise<void> {
  const start = performance.now();
  const signalled = new Set<number>();
  for (let isFirst = true; ; isFirst = false) {
    const members = findProcessTree(root);
    if (members.length === 0) return;
    const ms = performance.now() - start;
    if (ms > graceMs + KILL_WAIT_MS) throw createStillRunningError(members);
    // Once: cleanup commands may run. The command itself may have started only now.
    const needsTerm = ({ pid, parent }: SystemProcess): boolean =>
      isFirst || (parent === root.pid && !signalled.has(pid));
    for (const member of members.filter(needsTerm)) {
      signalled.add(member.pid);
      sendSignal(member.pid, "SIGTERM");
    }
    if (ms >= graceMs && !isFirst) {
      const others = members.filter(({ pid }) => pid !== root.pid);
      for (const { pid } of others) sendSignal(pid, "SIGKILL");
      if (others.length === 0 && ms >= graceMs + WRAPPER_MS) sendSignal(root.pid, "SIGKILL");
    }
    await pause(POLL_MS);
  }
}

function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has exited, or belongs to another user; the next check shows it.
  }
}

function createStillRunningError(members: readonly SystemProcess[]): PostriderError {
  const pids = members.map(({ pid }) => pid);
  const count = `${pids.length} of its processes`;
  return new PostriderError(
    "busy",
    `${count} could not be ended, neither by SIGTERM nor by SIGKILL: ${pids.join(", ")}. Try again, or look with ps.`,
  );
}
