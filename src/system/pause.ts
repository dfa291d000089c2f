import type { Clock } from "../ports/clock.ts";

/** The maximum time between two checks of the clocks during a wait. */
export const CLOCK_CHECK_MS = 60_000;

/** Resolves after `ms`, or when the signal aborts. */
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

/** A time to wait for, on each of the two clocks. */
export interface DueTime {
  readonly monotonic: number;
  readonly system: number;
}

/** The due time `ms` after now. */
export function computeDueTime(clock: Clock, ms: number): DueTime {
  return { monotonic: clock.monotonic() + ms, system: clock.now() + ms };
}

/** The due time of a stored time. Due within `maxMs` in any case, because the clock may have been wrong when it was stored. */
export function restoreDueTime(clock: Clock, storedAt: number, maxMs: number): DueTime {
  const ms = Math.min(Math.max(0, storedAt - clock.now()), maxMs);
  return { monotonic: clock.monotonic() + ms, system: storedAt };
}

/** Whether one of the clocks has reached the due time. */
export function isDue(due: DueTime, clock: Clock): boolean {
  return clock.monotonic() >= due.monotonic || clock.now() >= due.system;
}

/**
 * Waits until one of the clocks has reached the due time. The monotonic clock works when the system clock is set back; the
 * system clock works after the machine was suspended, during which the monotonic clock stops.
 */
export async function pauseUntil(due: DueTime, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const left = Math.min(due.monotonic - clock.monotonic(), due.system - clock.now());
    if (left <= 0) return;
    await pause(Math.min(left, CLOCK_CHECK_MS), signal);
  }
}
