let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a tick of its own. Spawning a process blocks the event loop for some milliseconds, and several spawns in
 * one tick would block it for too long.
 */
export function waitForOwnTick(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}
