import type { Message } from "../../core/message.ts";
import { findOperation, hasWritten, loadOperations } from "../sql/operations.ts";
import { readMessageRuns, toMessages } from "../sql/session-reads.ts";
import { openReader } from "./connection.ts";
import { countMessages, findRuns, PIECES } from "./history-pieces.ts";
import { readSnapshot } from "./snapshot.ts";
import type { SqliteOptions, Transport } from "./store.ts";
import { createClosedError, retryBusyAsync, toStoreError } from "./store-errors.ts";
import { openWorkerChannel, type WorkerChannel } from "./worker-channel.ts";

/** A history of this length costs the main thread no more than receiving it from another thread. */
const MAX_LOCAL_HISTORY = 2000;
const TOO_LONG = Symbol("too long for this thread");

/**
 * Three connections: one thread writes; this thread makes short keyed reads itself; a third thread, started on demand,
 * makes the long ones. So a search over everything delays neither the event loop nor a write.
 */
export async function openWorkerTransport(options: SqliteOptions): Promise<Transport> {
  const { file } = options;
  const listeners = new Set<() => void>();
  // Each in its own microtask: a failing listener must not fail the write.
  const notifyListeners = (): void => {
    for (const listener of listeners) queueMicrotask(listener);
  };
  const [writer, reads] = await Promise.all([
    openWorkerChannel({ role: "writer", options }, notifyListeners),
    loadOperations("read"),
  ]);
  const localReader = openReader(file);
  let reader: ReturnType<typeof openWorkerChannel> | undefined;
  let closing: Promise<void> | undefined;

  /** A thread that fails to open the database is dropped: the next read tries again. */
  const openReaderThread = (): ReturnType<typeof openWorkerChannel> => {
    const opening = openWorkerChannel({ role: "reader", options }, notifyListeners);
    opening.catch(() => {
      if (reader === opening) reader = undefined;
    });
    return opening;
  };
  const readInThread = async (...call: Parameters<WorkerChannel["call"]>): Promise<unknown> => {
    reader ??= openReaderThread();
    return (await reader).call(...call);
  };
  const readShort = async (name: string, input: unknown): Promise<unknown> => {
    const value = await retryBusyAsync(() =>
      readSnapshot(localReader, () => {
        const runs = findRuns(localReader, { name, input });
        if (runs === undefined) return reads.get(name)?.(localReader, input);
        return countMessages(runs) > MAX_LOCAL_HISTORY ? TOO_LONG : readMessageRuns(localReader, runs);
      }),
    );
    return value === TOO_LONG ? readHistoryInThread(name, input) : value;
  };
  /** In pieces, so that this thread converts one while the other reads the next, and never blocks for long. */
  const readHistoryInThread = async (name: string, input: unknown): Promise<Message[] | undefined> => {
    const pieces: Message[][] = [];
    const isFound = await readInThread(PIECES, { name, input }, (index, { run, rows }) => {
      pieces[index] = toMessages(run, rows);
    });
    return isFound === true ? pieces.flat() : undefined;
  };
  return {
    async write(name, input) {
      if (closing !== undefined) throw createClosedError();
      const value = await writer.call(name, input);
      if (hasWritten(name, value)) notifyListeners();
      return value;
    },
    async read(name, input) {
      if (closing !== undefined) throw createClosedError();
      try {
        return await (findOperation(name).kind === "readLong"
          ? readInThread(name, input)
          : readShort(name, input));
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
      // The writer closes last: the last connection, if it may write, leaves one complete file.
      closing ??= (async () => {
        await reader?.then((channel) => channel.close());
        localReader.close();
        await writer.close();
      })();
      return closing;
    },
  };
}
