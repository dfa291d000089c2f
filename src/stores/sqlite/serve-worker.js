import { receiveMessageOnPort, workerData } from "node:worker_threads";
import { loadOperations, } from "../sql/operations.js";
import { readRunRows } from "../sql/session-reads.js";
import { openReader } from "./connection.js";
import { retryBusy, toStoreError } from "./store-errors.js";
import { startWriter } from "./writer.js";
/** A commit of another process is noticed within this time. */
const POLL_MS = 100;
const SPIN_MS = 0.2;
const { role, options } = workerData;
/** Runs a worker from its start to its end. */
export async function serveWorker(port) {
    let worker;
    try {
        worker = await (role === "writer" ? serveWrites(port) : serveReads(port));
    }
    catch (error) {
        port.postMessage({ failed: toPlainError(toStoreError(error, options.file)) });
        port.close();
        return;
    }
    port.on("message", (first) => {
        for (let message = first; message !== undefined; message = receiveSoon(port)) {
            // All messages that have arrived go into the same commit.
            const calls = [];
            for (; message !== undefined; message = receiveMessageOnPort(port)?.message) {
                if ("calls" in message)
                    calls.push(...message.calls);
                else if ("listen" in message)
                    worker.listen(message.listen);
                else
                    return shutDown(port, worker, calls);
            }
            worker.run(calls);
        }
    });
    port.postMessage({ ready: true });
}
/**
 * For a caller that makes one call after the other, waking this thread costs more than the call itself, and its next call
 * comes at once or not at all.
 */
function receiveSoon(port) {
    const until = performance.now() + SPIN_MS;
    for (;;) {
        const message = receiveMessageOnPort(port)?.message;
        if (message !== undefined || performance.now() > until)
            return message;
    }
}
function shutDown(port, worker, calls) {
    worker.run(calls);
    worker.close();
    port.postMessage({ closed: true });
    port.close();
}
async function serveWrites(port) {
    const writer = startWriter(options, await loadOperations("write", "tryWrite"));
    let poll;
    // Not read when a listener is added: this thread hears of it later, and would miss a commit in between.
    let lastVersion = writer.readDataVersion();
    return {
        run(calls) {
            if (calls.length === 0)
                return;
            const outcomes = writer.run(calls.map(([, name, input]) => ({ name, input })));
            postOutcomes(port, outcomes.map((outcome, index) => toNumberedOutcome(calls[index]?.[0] ?? 0, outcome)));
            writer.scheduleIndexing();
        },
        listen(on) {
            clearInterval(poll);
            if (!on)
                return;
            poll = setInterval(() => {
                const version = writer.readDataVersion();
                if (version === lastVersion)
                    return;
                lastVersion = version;
                port.postMessage({ changed: true });
            }, POLL_MS);
        },
        close() {
            clearInterval(poll);
            writer.close();
        },
    };
}
async function serveReads(port) {
    const operations = new Map([
        ...(await loadOperations("read", "readLong")),
        ["rows", readRunRows],
    ]);
    const db = openReader(options.file);
    const runRead = (name, input) => {
        try {
            return {
                value: retryBusy(() => {
                    const operation = operations.get(name);
                    if (operation === undefined)
                        throw new Error(`${name} is not a read of the store`);
                    return operation(db, input);
                }),
            };
        }
        catch (error) {
            return { error };
        }
    };
    return {
        // One by one: a short read must not wait for a long one after it.
        run(calls) {
            for (const [number, name, input] of calls)
                postOutcomes(port, [toNumberedOutcome(number, runRead(name, input))]);
        },
        listen() { },
        close: () => db.close(),
    };
}
function postOutcomes(port, outcomes) {
    port.postMessage({ outcomes });
}
function toNumberedOutcome(number, outcome) {
    if (!("error" in outcome))
        return [number, outcome.value];
    return [number, undefined, toPlainError(toStoreError(outcome.error, options.file))];
}
function toPlainError(error) {
    return { code: error.code, message: error.message, details: error.details };
}
