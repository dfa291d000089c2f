import { setTimeout as after } from "node:timers/promises";
import { PostriderError } from "../core/errors.ts";
import { bornOf, type Place } from "./born.ts";
import { everyProcStat, procStat } from "./proc-stat.ts";

const LOOK_MS = 20;
/** After it was made to end: longer takes only who waits for a disk that does not answer. */
const MADE_TO_END_MS = 5000;

/**
 * Ends the group of a process and, where the system tells, everybody who has stayed in its session. What comes back is
 * what the kernel says, not what was asked for.
 */
export async function endAll(place: Place, graceMs: number): Promise<void> {
  if (isAnother(place)) return;
  const began = performance.now();
  signalAll(place.pid, "SIGTERM");
  for (;;) {
    if (isAnother(place) || living(place.pid).length === 0) return;
    const ms = performance.now() - began;
    if (ms > graceMs + MADE_TO_END_MS) throw stillThere(living(place.pid));
    // Again and again: one that was being started has not heard the first.
    if (ms >= graceMs) signalAll(place.pid, "SIGKILL");
    await after(LOOK_MS);
  }
}

/** While anybody of the group or the session lives, the kernel gives its number to nobody else. */
function isAnother({ pid, born }: Place): boolean {
  const now = bornOf(pid);
  return now !== undefined && now !== born;
}

function signalAll(leader: number, signal: NodeJS.Signals): void {
  const all = living(leader);
  const isGroup = tell(-leader, signal);
  // Who has made a group of its own, as shells do with jobs, is still of the session.
  const isOutside = (pid: number): boolean =>
    process.platform === "linux" ? procStat(pid)?.group !== leader : !isGroup;
  for (const pid of all.filter(isOutside)) tell(pid, signal);
}

function tell(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // gone in between; whether that is so is asked afterwards
  }
}

/**
 * Zombies are dead: only their parent has not asked how they ended. The leader is named by itself, too: in its first
 * moment it has not made its group yet.
 */
function living(leader: number): readonly number[] {
  if (process.platform !== "linux") return tell(-leader, 0) || tell(leader, 0) ? [leader] : [];
  return everyProcStat()
    .filter(({ isZombie }) => !isZombie)
    .filter(({ pid, group, session }) => [pid, group, session].includes(leader))
    .map(({ pid }) => pid);
}

function stillThere(pids: readonly number[]): PostriderError {
  return new PostriderError(
    "busy",
    `It was told to end and made to end, and is still there: process ${pids.join(", ")}. Try again, or look with ps.`,
  );
}
