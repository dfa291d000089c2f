/** A stopped agent has this time to report its usage. */
const ABORT_GRACE_MS = 1000;

/** Passes on the events of an agent. If it does not end soon after the signal aborts, its further events are ignored. */
export async function* readEventsUntil<Event>(
  signal: AbortSignal,
  events: AsyncIterable<Event>,
): AsyncGenerator<Event> {
  const iterator = events[Symbol.asyncIterator]();
  const grace = startGracePeriod(signal);
  try {
    for (;;) {
      const step = await grace.waitFor(iterator.next());
      if (step === undefined || step.done === true) return;
      yield step.value;
    }
  } finally {
    grace.cancel();
    // Not awaited: it would wait as long as the agent.
    iterator.return?.().catch(() => {});
  }
}

interface GracePeriod {
  /** Resolves with the result of the promise, or with `undefined` when the period is over. */
  waitFor<Value>(promise: Promise<Value>): Promise<Value | undefined>;
  cancel(): void;
}

function startGracePeriod(signal: AbortSignal): GracePeriod {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let giveUp = (): void => {};
  const start = (): void => {
    timer = setTimeout(() => {
      isOver = true;
      giveUp();
    }, ABORT_GRACE_MS);
  };
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return {
    // Not `Promise.race`: a promise that takes part in all races would retain memory for every event.
    waitFor: (promise) =>
      new Promise((resolve, reject) => {
        giveUp = () => resolve(undefined);
        promise.then(resolve, reject);
        if (isOver) giveUp();
      }),
    cancel() {
      signal.removeEventListener("abort", start);
      clearTimeout(timer);
    },
  };
}
