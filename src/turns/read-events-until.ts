/** How long an agent that was stopped may take to tell what it has used. */
const ABORT_GRACE_MS = 1000;

/**
 * The events of an agent. It has promised to end soon when the signal aborts; one that does not is left behind, so that
 * whoever stopped it need not wait for it.
 */
export async function* readEventsUntil<Event>(
  signal: AbortSignal,
  events: AsyncIterable<Event>,
): AsyncGenerator<Event> {
  const iterator = events[Symbol.asyncIterator]();
  const patience = startGracePeriod(signal);
  try {
    for (;;) {
      const step = await patience.waitFor(iterator.next());
      if (step === undefined || step.done === true) return;
      yield step.value;
    }
  } finally {
    patience.cancel();
    // Not awaited: it waits for what the agent waits for.
    iterator.return?.().catch(() => {});
  }
}

interface GracePeriod {
  /** What the promise resolves with, or `undefined` when it is over. What comes later is nobody's concern. */
  waitFor<Value>(promise: Promise<Value>): Promise<Value | undefined>;
  cancel(): void;
}

function startGracePeriod(signal: AbortSignal): GracePeriod {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let giveUp = (): void => {};
  const begin = (): void => {
    timer = setTimeout(() => {
      isOver = true;
      giveUp();
    }, ABORT_GRACE_MS);
  };
  if (signal.aborted) begin();
  else signal.addEventListener("abort", begin, { once: true });
  return {
    // Not a race: one promise that is in all of them would keep something of every event until the end of the answer.
    waitFor: (promise) =>
      new Promise((resolve, reject) => {
        giveUp = () => resolve(undefined);
        promise.then(resolve, reject);
        if (isOver) giveUp();
      }),
    cancel() {
      signal.removeEventListener("abort", begin);
      clearTimeout(timer);
    },
  };
}
