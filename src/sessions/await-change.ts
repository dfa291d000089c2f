import type { Store } from "../ports/store.ts";

/** A process that crashes changes nothing in the store, so a caller that waits for it must also poll. */
const POLL_MS = 500;

/**
 * Starts to listen at once, so that a change during the caller's next read is not missed. `happened` resolves on a change,
 * after `pollMs`, or when the signal aborts.
 */
export function awaitChange(
  store: Store,
  signal: AbortSignal,
  pollMs: number = POLL_MS,
): { readonly happened: Promise<void>; forget(): void } {
  let forget = (): void => {};
  const happened = new Promise<void>((resolve) => {
    const listener = (): void => resolve();
    const unlisten = store.onChange(listener);
    const timer = setTimeout(listener, Math.max(0, pollMs));
    signal.addEventListener("abort", listener);
    forget = () => {
      unlisten();
      clearTimeout(timer);
      signal.removeEventListener("abort", listener);
    };
  });
  return { happened, forget };
}
