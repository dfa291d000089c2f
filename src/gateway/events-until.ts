/** How long an agent that was stopped may take to tell what it has used. */
const LAST_WORDS_MS = 1000;

/**
 * The events of an agent. It has promised to end soon when the signal aborts; one that does not is left behind, so that
 * whoever stopped it need not wait for it.
 */
export async function* eventsUntil<Event>(
  signal: AbortSignal,
  events: AsyncIterable<Event>,
): AsyncGenerator<Event> {
  const iterator = events[Symbol.asyncIterator]();
  const patience = patienceAfter(signal);
  try {
    for (;;) {
      const next = iterator.next();
      // What comes of it once nobody waits any more is nobody's concern.
      next.catch(() => {});
      const step = await Promise.race([next, patience.over]);
      if (step === undefined || step.done === true) return;
      yield step.value;
    }
  } finally {
    patience.forget();
    // Not awaited: it waits for what the agent waits for.
    iterator.return?.().catch(() => {});
  }
}

function patienceAfter(signal: AbortSignal): { readonly over: Promise<undefined>; forget(): void } {
  let timer: NodeJS.Timeout | undefined;
  let forget = (): void => {};
  const over = new Promise<undefined>((resolve) => {
    const begin = (): void => {
      timer = setTimeout(resolve, LAST_WORDS_MS, undefined);
    };
    if (signal.aborted) begin();
    else signal.addEventListener("abort", begin, { once: true });
    forget = () => {
      signal.removeEventListener("abort", begin);
      clearTimeout(timer);
    };
  });
  return { over, forget };
}
