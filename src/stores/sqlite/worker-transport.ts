import { type Db, openReader } from "./connection.ts";
import { findOperation, hasWritten, loadOperations } from "./operations.ts";
import {
  findHistoryRuns,
  findMessageRuns,
  getRunLength,
  type MessageRun,
  readMessageRuns,
  splitRuns,
  toMessages,
} from "./session-reads.ts";
import type { SqliteOptions, Transport } from "./store.ts";
import { createClosedError, retryBusyAsync, toStoreError } from "./store-errors.ts";
import { openWorkerChannel } from "./worker-channel.ts";

/** Up to here a history costs the main thread no more than receiving it from another would. */
const MAX_LOCAL_HISTORY = 2000;
const MAX_RUN_LENGTH = 1000;
/** Where the messages lie is a short read; how many there are decides who reads them. */
const RUN_FINDERS: ReadonlyMap<string, (db: Db, input: never) => MessageRun[] | undefined> = new Map([
  ["readHistory", findHistoryRuns],
  ["listMessages", findMessageRuns],
]);

/**
 * Three connections: one thread writes; this one makes short keyed reads itself; a third thread, started when
 * first needed, makes the long ones. A search over everything then delays neither the loop nor a write.
 */
export async function openWorkerTransport(options: SqliteOptions): Promise<Transport> {
  const { file } = options;
  const listeners = new Set<() => void>();
  // Each by itself: a listener's failure is its own, not that of the write it is told of.
  const changed = (): void => {
    for (const listener of listeners) queueMicrotask(listener);
  };
  const [writer, reads] = await Promise.all([
    openWorkerChannel({ role: "writer", options }, changed),
    loadOperations("read"),
  ]);
  const here = openReader(file);
  let reader: ReturnType<typeof openWorkerChannel> | undefined;
  let closing: Promise<void> | undefined;

  /** A thread that cannot open the database is not kept: the next read tries again. */
  const openReaderThread = (): ReturnType<typeof openWorkerChannel> => {
    const opening = openWorkerChannel({ role: "reader", options }, changed);
    opening.catch(() => {
      if (reader === opening) reader = undefined;
    });
    return opening;
  };
  const readThere = async (name: string, input: unknown): Promise<unknown> => {
    reader ??= openReaderThread();
    return (await reader).call(name, input);
  };
  const readHere = (name: string, input: unknown): unknown => {
    const runs = RUN_FINDERS.get(name)?.(here, input as never);
    if (runs === undefined) return reads.get(name)?.(here, input);
    if (runs.reduce((sum, run) => sum + getRunLength(run), 0) <= MAX_LOCAL_HISTORY)
      return readMessageRuns(here, runs);
    return readLong(runs);
  };
  /** In pieces, so that this thread takes one up while the other reads the next, and never stops for long. */
  const readLong = async (runs: readonly MessageRun[]): Promise<unknown> => {
    const pieces = splitRuns(runs, MAX_RUN_LENGTH).map(async (run) =>
      toMessages(run, (await readThere("rows", run)) as unknown[][]),
    );
    return (await Promise.all(pieces)).flat();
  };
  return {
    async write(name, input) {
      if (closing !== undefined) throw createClosedError();
      const value = await writer.call(name, input);
      if (hasWritten(name, value)) changed();
      return value;
    },
    async read(name, input) {
      if (closing !== undefined) throw createClosedError();
      try {
        return await (findOperation(name).kind === "readLong"
          ? readThere(name, input)
          : retryBusyAsync(() => readHere(name, input)));
      } catch (error) {
        throw toStoreError(error, file);
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
