/** Work that somebody may stop, and that may take only so long. */
export interface Deadline {
  /** Aborts when the work is stopped, and when its time is over. */
  readonly signal: AbortSignal;
  /** Whether the time was over before anybody stopped it. */
  isExpired(): boolean;
  /** To be called when the work has ended: nothing is held for it any more. */
  cancel(): void;
}

/**
 * Not `AbortSignal.any` with `AbortSignal.timeout`: Node holds those, with their timer, until the time is over, however
 * long ago the work has ended.
 */
export function startDeadline(stopped: AbortSignal, ms: number | undefined): Deadline {
  if (ms === undefined) return { signal: stopped, isExpired: () => false, cancel: () => {} };
  const either = new AbortController();
  let isOver = false;
  const stop = (): void => either.abort(stopped.reason);
  const timer = setTimeout(
    () => {
      isOver = !either.signal.aborted;
      either.abort();
    },
    Math.min(ms, 2 ** 31 - 1),
  ).unref();
  if (stopped.aborted) stop();
  else stopped.addEventListener("abort", stop, { once: true });
  return {
    signal: either.signal,
    isExpired: () => isOver,
    cancel() {
      clearTimeout(timer);
      stopped.removeEventListener("abort", stop);
    },
  };
}
