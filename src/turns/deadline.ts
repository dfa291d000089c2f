/** The time limit of work that can also be stopped. */
export interface Deadline {
  /** Aborts when the work is stopped or its time is over. */
  readonly signal: AbortSignal;
  /** Whether the time was over before a stop. */
  isExpired(): boolean;
  /** Call it when the work has ended: it releases the timer. */
  cancel(): void;
}

/** Not `AbortSignal.any` with `AbortSignal.timeout`: Node keeps their timer until it expires, even after the work ended. */
export function startDeadline(stopped: AbortSignal, ms: number | undefined): Deadline {
  if (ms === undefined) return { signal: stopped, isExpired: () => false, cancel: () => {} };
  const either = new AbortController();
  let isExpired = false;
  const stop = (): void => either.abort(stopped.reason);
  const timer = setTimeout(
    () => {
      isExpired = !either.signal.aborted;
      either.abort();
    },
    Math.min(ms, 2 ** 31 - 1),
  ).unref();
  if (stopped.aborted) stop();
  else stopped.addEventListener("abort", stop, { once: true });
  return {
    signal: either.signal,
    isExpired: () => isExpired,
    cancel() {
      clearTimeout(timer);
      stopped.removeEventListener("abort", stop);
    },
  };
}
