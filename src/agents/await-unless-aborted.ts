/**
 * The value of a promise, or `undefined` when the signal aborts: at once, or after the grace period, in which the promise
 * may still settle. After that, its failure is ignored.
 */
export async function awaitUnlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  graceMs = 0,
): Promise<T | undefined> {
  const stopped = Promise.withResolvers<undefined>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = (): void => {
    if (graceMs === 0) stopped.resolve(undefined);
    else timer = setTimeout(() => stopped.resolve(undefined), graceMs);
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([stopped.promise, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
