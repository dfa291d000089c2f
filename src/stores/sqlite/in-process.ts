import { closed } from "./channel.ts";
import { openReader } from "./connection.ts";
import { retryBusyLater, storeError } from "./failure.ts";
import { type Call, read } from "./operations.ts";
import type { SqliteOptions, Transport } from "./store.ts";
import { startWriter } from "./writer.ts";

interface Waiting {
  readonly call: Call;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const POLL_MS = 100;

/** Everything in this thread. Calls of one turn of the loop still share a commit. */
export function inProcess(options: SqliteOptions): Transport {
  const writer = startWriter(options);
  const reader = openReader(options.file);
  const listeners = new Set<() => void>();
  let queue: Waiting[] = [];
  let poll: NodeJS.Timeout | undefined;
  let isClosed = false;

  function drain(): void {
    const batch = queue;
    queue = [];
    if (batch.length === 0) return;
    const outcomes = writer.run(batch.map(({ call }) => call));
    changed();
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index] ?? { error: closed() };
      if ("error" in outcome) reject(outcome.error);
      else resolve(outcome.value);
    });
    writer.tidy();
  }
  /** Each by itself: a listener's failure is its own, not that of the write it is told of. */
  function changed(): void {
    for (const listener of listeners) queueMicrotask(listener);
  }

  return {
    write(name, input) {
      if (isClosed) return Promise.reject(closed());
      return new Promise((resolve, reject) => {
        queue.push({ call: { name, input }, resolve, reject });
        // Not a microtask: callers that only await the store would never let the loop turn.
        if (queue.length === 1) setImmediate(drain);
      });
    },
    async read(name, input) {
      try {
        return await retryBusyLater(() => {
          if (isClosed) throw closed();
          return read(name)(reader, input);
        });
      } catch (error) {
        throw storeError(error, options.file);
      }
    },
    onChange(listener) {
      listeners.add(listener);
      if (poll === undefined && !isClosed) {
        let seen = writer.foreignCommits();
        poll = setInterval(() => {
          const now = writer.foreignCommits();
          if (now !== seen) changed();
          seen = now;
        }, POLL_MS);
      }
      return () => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        clearInterval(poll);
        poll = undefined;
      };
    },
    async close() {
      if (isClosed) return;
      drain();
      isClosed = true;
      clearInterval(poll);
      // The last connection to go, if it may write, leaves one whole file behind.
      reader.close();
      writer.close();
    },
  };
}
