import type { Store } from "../ports/store.ts";

/** A process that dies changes nothing in the store, so whoever waits behind one looks again by itself. */
const POLL_MS = 500;

/** Listens from now on, so that what changes during a look is not slept through. Nobody waits longer than the signal. */
export function awaitChange(
  store: Store,
  signal: AbortSignal,
  lookAgainMs: number = POLL_MS,
): { readonly happened: Promise<void>; forget(): void } {
  let forget = (): void => {};
  const happened = new Promise<void>((resolve) => {
    const listener = (): void => resolve();
    const unlisten = store.onChange(listener);
    const timer = setTimeout(listener, Math.max(0, lookAgainMs));
    signal.addEventListener("abort", listener);
    forget = () => {
      unlisten();
      clearTimeout(timer);
      signal.removeEventListener("abort", listener);
    };
  });
  return { happened, forget };
}
