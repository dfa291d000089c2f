import type { Clock } from "../ports/clock.ts";

/** Nobody waits longer than this without looking at the clocks again. */
export const CLOCK_CHECK_MS = 60_000;

/** Waits for so long, or until the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms <= 0 || signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(done, Math.min(ms, 2 ** 31 - 1));
    signal?.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}

/** An instant to wait for, as each clock tells it. */
export interface DueTime {
  readonly monotonic: number;
  readonly system: number;
}

/** So much later than now. */
export function computeDueTime(clock: Clock, ms: number): DueTime {
  return { monotonic: clock.monotonic() + ms, system: clock.now() + ms };
}

/** An instant that was stored, perhaps under a clock that was wrong: it is due within `mostMs` in any case. */
export function restoreDueTime(clock: Clock, storedAt: number, mostMs: number): DueTime {
  const ms = Math.min(Math.max(0, storedAt - clock.now()), mostMs);
  return { monotonic: clock.monotonic() + ms, system: storedAt };
}

/** Whether one of the clocks says so. */
export function isDue(due: DueTime, clock: Clock): boolean {
  return clock.monotonic() >= due.monotonic || clock.now() >= due.system;
}

/**
 * Waits until one of the clocks says so. The monotonic one decides when the system clock was set back; the system
 * clock decides after a sleep of the machine, for which the monotonic one stands still.
 */
export async function pauseUntil(due: DueTime, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const left = Math.min(due.monotonic - clock.monotonic(), due.system - clock.now());
    if (left <= 0) return;
    await pause(Math.min(left, CLOCK_CHECK_MS), signal);
  }
}
