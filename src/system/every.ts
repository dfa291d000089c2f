/**
 * Runs `work` every `ms` until the signal aborts. One round at a time: a tick during a slow round is skipped. A failed
 * round goes to `onError`, and the next tick tries again.
 */
export function every(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
): void {
  if (signal.aborted) return;
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    work()
      .catch(onError)
      .finally(() => {
        isBusy = false;
      });
  }, ms);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}
