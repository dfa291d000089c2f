import {
  type CallOutcome,
  findOperation,
  hasWritten,
  loadOperations,
  type StoreOperation,
  type WriteCall,
} from "../sql/operations.ts";
import { openIfCurrent, openReader, type SqliteDb } from "./connection.ts";
import { readSnapshot } from "./snapshot.ts";
import type { SqliteOptions, Transport } from "./store.ts";
import { createClosedError, retryBusyAsync, toStoreError } from "./store-errors.ts";
import type { Writer } from "./writer.ts";

interface QueuedCall {
  readonly call: WriteCall;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const POLL_MS = 100;
const answered = Promise.resolve();
/** How long answers may be followed by the next calls of the same callers before the event loop must run. */
const MAX_TURN_MS = 4;

function hasCommitted({ name }: WriteCall, outcome: CallOutcome | undefined): boolean {
  return outcome !== undefined && "value" in outcome && hasWritten(name, outcome.value);
}

/**
 * Runs everything in this thread. Calls of one turn of the event loop still share a commit. The writer is loaded and
 * opened on the first write: a command that only reads has answered by then.
 */
export async function openInProcessTransport(options: SqliteOptions): Promise<Transport> {
  let writer: Writer | undefined;
  let openingWriter: Promise<Writer> | undefined;
  const current = openIfCurrent(options.file);
  // The writer handles a database that is new, old or broken.
  if (current === undefined) writer = await openWriter();
  const reader: SqliteDb = current ?? openReader(options.file);
  const listeners = new Set<() => void>();
  const pendingReads = new Set<Promise<unknown>>();
  /** The first read of its kind waits for its code; later writes must not overtake it. */
  let loadingReads = 0;
  let queue: QueuedCall[] = [];
  let turnStartedAt = 0;
  /** A drain is due when the callers of the last one have made their next calls. */
  let isFollowUpDue = false;
  let poll: NodeJS.Timeout | undefined;
  let lastVersion = 0;
  let isClosed = false;

  async function openWriter(): Promise<Writer> {
    const [{ startWriter }, operations] = await Promise.all([
      import("./writer.ts"),
      loadOperations("write", "tryWrite"),
    ]);
    return startWriter(options, operations);
  }
  function drain(): void {
    const batch = queue;
    queue = [];
    if (batch.length === 0 || writer === undefined) return;
    const outcomes = writer.run(batch.map(({ call }) => call));
    if (batch.some(({ call }, index) => hasCommitted(call, outcomes[index]))) {
      // Only for listeners: this query takes as long as a small write.
      if (poll !== undefined) lastVersion = readVersion();
      notifyListeners();
    }
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index] ?? { error: createClosedError() };
      if ("error" in outcome) reject(outcome.error);
      else resolve(outcome.value);
    });
    writer.scheduleIndexing();
    // A caller that makes one call after the other would wait for a turn of the event loop each time.
    if (performance.now() - turnStartedAt > MAX_TURN_MS) return;
    isFollowUpDue = true;
    // A tick of a microtask runs after all microtasks, thus after the code that waited for these answers.
    void answered.then(scheduleFollowUp);
  }
  function scheduleFollowUp(): void {
    process.nextTick(followUp);
  }
  function followUp(): void {
    isFollowUpDue = false;
    drainInOrder();
  }
  function startTurn(): void {
    turnStartedAt = performance.now();
    drainInOrder();
  }
  function drainInOrder(): void {
    if (loadingReads > 0) void Promise.allSettled(pendingReads).then(drainInOrder);
    else if (writer === undefined && queue.length > 0) void openAndDrain();
    else drain();
  }
  /** The first calls wait for the writer; a failure to open it fails them all. */
  async function openAndDrain(): Promise<void> {
    try {
      openingWriter ??= openWriter();
      writer = await openingWriter;
      lastVersion = Number.NaN; // the writer counts other numbers than the reader: check once more
    } catch (error) {
      openingWriter = undefined;
      for (const { reject } of queue.splice(0)) reject(error);
    }
    drain();
  }
  /** Each in its own microtask: a failing listener must not fail the write. */
  function notifyListeners(): void {
    for (const listener of listeners) queueMicrotask(listener);
  }
  function readVersion(): number {
    // The version of a connection ignores its own commits; for the reader, the writer's commits count, and its indexing, too.
    if (writer !== undefined) return writer.readDataVersion();
    try {
      return Number(reader.pragma("data_version"));
    } catch {
      return lastVersion; // another process repairs the log of a killed one; the next poll shows changes
    }
  }

  async function loadRead(name: string): Promise<StoreOperation> {
    loadingReads += 1;
    try {
      return await findOperation(name).load();
    } finally {
      loadingReads -= 1;
    }
  }
  async function readNow(name: string, input: unknown): Promise<unknown> {
    try {
      const operation = await loadRead(name);
      return await retryBusyAsync(() => readSnapshot(reader, () => operation(reader, input)));
    } catch (error) {
      throw toStoreError(error, options.file);
    }
  }

  return {
    write(name, input) {
      if (isClosed) return Promise.reject(createClosedError());
      return new Promise((resolve, reject) => {
        queue.push({ call: { name, input }, resolve, reject });
        // Not a microtask: callers that only await the store would block the event loop.
        if (queue.length === 1 && !isFollowUpDue) setImmediate(startTurn);
      });
    },
    read(name, input) {
      if (isClosed) return Promise.reject(createClosedError());
      const answer = readNow(name, input).finally(() => pendingReads.delete(answer));
      pendingReads.add(answer);
      return answer;
    },
    onChange(listener) {
      listeners.add(listener);
      if (poll === undefined && !isClosed) {
        lastVersion = readVersion();
        poll = setInterval(() => {
          const version = readVersion();
          if (version !== lastVersion) notifyListeners();
          lastVersion = version;
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
      isClosed = true;
      if (writer === undefined && queue.length > 0) await openAndDrain();
      drain();
      clearInterval(poll);
      await Promise.allSettled(pendingReads);
      // The last connection to close, if it may write, leaves one complete file.
      reader.close();
      writer?.close();
    },
  };
}
