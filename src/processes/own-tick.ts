let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a tick in which nobody else is resolved. Starting a process blocks the loop for some milliseconds, and several
 * in a row would block it for too long.
 */
export function waitForOwnTick(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}
