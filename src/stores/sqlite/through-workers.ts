import { openChannel } from "./channel.ts";
import { type Db, openReader } from "./connection.ts";
import { closed, retryBusyLater, storeError } from "./failure.ts";
import type { AllReads } from "./operations.ts";
import { divided, historyRuns, lengthOf, messagesRuns, type Run, readRuns, toMessages } from "./reading.ts";
import { read } from "./reads.ts";
import type { SqliteOptions, Transport } from "./store.ts";
import { hasHappened } from "./write-names.ts";

/** Reads that may touch much: never on the main thread. */
const LONG_READS: ReadonlySet<string> = new Set<keyof AllReads>([
  "list",
  "search",
  "unsearched",
  "stats",
  "blob",
  "surroundings",
  "arrivals",
  "personData",
  "insights",
  "silent",
]);
/** Up to here a history costs the main thread no more than receiving it from another would. */
const SHORT_HISTORY = 2000;
const LONG_RUN = 1000;
/** Where the messages lie is a short read; how many there are decides who reads them. */
const RUNS: Readonly<Partial<Record<keyof AllReads, (db: Db, input: never) => Run[] | undefined>>> = {
  history: historyRuns,
  messages: messagesRuns,
};

/**
 * Three connections: one thread writes; this one makes short keyed reads itself; a third thread, started when
 * first needed, makes the long ones. A search over everything then delays neither the loop nor a write.
 */
export async function throughWorkers(options: SqliteOptions): Promise<Transport> {
  const { file } = options;
  const listeners = new Set<() => void>();
  // Each by itself: a listener's failure is its own, not that of the write it is told of.
  const changed = (): void => {
    for (const listener of listeners) queueMicrotask(listener);
  };
  const writer = await openChannel({ role: "writer", options }, changed);
  const here = openReader(file);
  let reader: ReturnType<typeof openChannel> | undefined;
  let closing: Promise<void> | undefined;

  /** A thread that cannot open the database is not kept: the next read tries again. */
  const openReaderThread = (): ReturnType<typeof openChannel> => {
    const opening = openChannel({ role: "reader", options }, changed);
    opening.catch(() => {
      if (reader === opening) reader = undefined;
    });
    return opening;
  };
  const readThere = async (name: keyof AllReads | "rows", input: unknown): Promise<unknown> => {
    reader ??= openReaderThread();
    return (await reader).call(name, input);
  };
  const readHere = (name: keyof AllReads, input: unknown): unknown => {
    const runs = RUNS[name]?.(here, input as never);
    if (runs === undefined) return read(name)(here, input);
    if (runs.reduce((sum, run) => sum + lengthOf(run), 0) <= SHORT_HISTORY) return readRuns(here, runs);
    return readLong(runs);
  };
  /** In pieces, so that this thread takes one up while the other reads the next, and never stops for long. */
  const readLong = async (runs: readonly Run[]): Promise<unknown> => {
    const pieces = divided(runs, LONG_RUN).map(async (run) =>
      toMessages(run, (await readThere("rows", run)) as unknown[][]),
    );
    return (await Promise.all(pieces)).flat();
  };
  return {
    async write(name, input) {
      if (closing !== undefined) throw closed();
      const value = await writer.call(name, input);
      if (hasHappened(name, value)) changed();
      return value;
    },
    async read(name, input) {
      if (closing !== undefined) throw closed();
      try {
        return await (LONG_READS.has(name)
          ? readThere(name, input)
          : retryBusyLater(() => readHere(name, input)));
      } catch (error) {
        throw storeError(error, file);
      }
    },
    onChange(listener) {
      if (listeners.size === 0) writer.listen(true);
      listeners.add(listener);
      return () => {
        if (listeners.delete(listener) && listeners.size === 0 && closing === undefined) writer.listen(false);
      };
    },
    close() {
      // The writer goes last: the last connection to go, if it may write, leaves one whole file behind.
      closing ??= (async () => {
        await reader?.then((channel) => channel.close());
        here.close();
        await writer.close();
      })();
      return closing;
    },
  };
}
