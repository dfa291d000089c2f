import { findOperation, hasWritten, loadOperations } from "../sql/operations.js";
import { findHistoryRuns, findMessageRuns, getRunLength, readMessageRuns, splitRuns, toMessages, } from "../sql/session-reads.js";
import { openReader } from "./connection.js";
import { createClosedError, retryBusyAsync, toStoreError } from "./store-errors.js";
import { openWorkerChannel } from "./worker-channel.js";
/** A history of this length costs the main thread no more than receiving it from another thread. */
const MAX_LOCAL_HISTORY = 2000;
const MAX_RUN_LENGTH = 1000;
/** Finding the ranges is a short read; the number of messages decides which thread reads them. */
const RUN_FINDERS = new Map([
    ["readHistory", findHistoryRuns],
    ["listMessages", findMessageRuns],
]);
/**
 * Three connections: one thread writes; this thread makes short keyed reads itself; a third thread, started on demand,
 * makes the long ones. So a search over everything delays neither the event loop nor a write.
 */
export async function openWorkerTransport(options) {
    const { file } = options;
    const listeners = new Set();
    // Each in its own microtask: a failing listener must not fail the write.
    const notifyListeners = () => {
        for (const listener of listeners)
            queueMicrotask(listener);
    };
    const [writer, reads] = await Promise.all([
        openWorkerChannel({ role: "writer", options }, notifyListeners),
        loadOperations("read"),
    ]);
    const localReader = openReader(file);
    let reader;
    let closing;
    /** A thread that fails to open the database is dropped: the next read tries again. */
    const openReaderThread = () => {
        const opening = openWorkerChannel({ role: "reader", options }, notifyListeners);
        opening.catch(() => {
            if (reader === opening)
                reader = undefined;
        });
        return opening;
    };
    const readInThread = async (name, input) => {
        reader ??= openReaderThread();
        return (await reader).call(name, input);
    };
    const readLocally = (name, input) => {
        const runs = RUN_FINDERS.get(name)?.(localReader, input);
        if (runs === undefined)
            return reads.get(name)?.(localReader, input);
        if (runs.reduce((sum, run) => sum + getRunLength(run), 0) <= MAX_LOCAL_HISTORY)
            return readMessageRuns(localReader, runs);
        return readLong(runs);
    };
    /** In pieces, so that this thread converts one while the other reads the next, and never blocks for long. */
    const readLong = async (runs) => {
        const pieces = splitRuns(runs, MAX_RUN_LENGTH).map(async (run) => toMessages(run, (await readInThread("rows", run))));
        return (await Promise.all(pieces)).flat();
    };
    return {
        async write(name, input) {
            if (closing !== undefined)
                throw createClosedError();
            const value = await writer.call(name, input);
            if (hasWritten(name, value))
                notifyListeners();
            return value;
        },
        async read(name, input) {
            if (closing !== undefined)
                throw createClosedError();
            try {
                return await (findOperation(name).kind === "readLong"
                    ? readInThread(name, input)
                    : retryBusyAsync(() => readLocally(name, input)));
            }
            catch (error) {
                throw toStoreError(error, file);
            }
        },
        onChange(listener) {
            if (listeners.size === 0)
                writer.listen(true);
            listeners.add(listener);
            return () => {
                if (listeners.delete(listener) && listeners.size === 0 && closing === undefined)
                    writer.listen(false);
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
