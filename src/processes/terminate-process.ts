import { PostriderError } from "../core/errors.ts";
import { pause } from "../system/pause.ts";
import type { ManagedProcess } from "./backend.ts";
import { findProcessTree, type SystemProcess } from "./process-tree.ts";

const LOOK_MS = 25;
/** The wrapper shell writes how its command ended, so it is killed only when it does not end after it. */
const WRAPPER_MS = 1000;
/** After it was made to end: longer takes only who waits for a disk that does not answer. */
const MADE_TO_END_MS = 5000;

/**
 * Ends a process and everything that it has started: SIGTERM, and SIGKILL after the grace, until a look at all processes
 * of the machine finds nobody any more. Throws with the pids when somebody is still there.
 */
export async function terminateProcess(program: ManagedProcess, graceMs: number): Promise<void> {
  const began = performance.now();
  const asked = new Set<number>();
  for (let isFirst = true; ; isFirst = false) {
    const members = findProcessTree(program);
    if (members.length === 0) return;
    const ms = performance.now() - began;
    if (ms > graceMs + MADE_TO_END_MS) throw createStillRunningError(members);
    // Once: what a command runs to clean up is left alone. The command itself may only just have been started.
    const isToAsk = ({ pid, parent }: SystemProcess): boolean =>
      isFirst || (parent === program.pid && !asked.has(pid));
    for (const member of members.filter(isToAsk)) {
      asked.add(member.pid);
      sendSignal(member.pid, "SIGTERM");
    }
    if (ms >= graceMs && !isFirst) {
      const others = members.filter(({ pid }) => pid !== program.pid);
      for (const { pid } of others) sendSignal(pid, "SIGKILL");
      if (others.length === 0 && ms >= graceMs + WRAPPER_MS) sendSignal(program.pid, "SIGKILL");
    }
    await pause(LOOK_MS);
  }
}

function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone in between, or not ours to end; the next look tells.
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
