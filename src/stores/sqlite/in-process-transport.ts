import { type Db, openIfCurrent, openReader } from "./connection.ts";
import {
  type CallOutcome,
  findOperation,
  hasWritten,
  loadOperations,
  type StoreOperation,
  type WriteCall,
} from "./operations.ts";
import type { SqliteOptions, Transport } from "./store.ts";
import { createClosedError, retryBusyAsync, toStoreError } from "./store-errors.ts";
import type { Writer } from "./writer.ts";

interface QueuedCall {
  readonly call: WriteCall;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const POLL_MS = 100;

function hasCommitted({ name }: WriteCall, outcome: CallOutcome | undefined): boolean {
  return outcome !== undefined && "value" in outcome && hasWritten(name, outcome.value);
}

/**
 * Everything in this thread. Calls of one turn of the loop still share a commit. The writer is opened, and even loaded,
 * when something is to be written: a command that only looks has answered by then.
 */
export async function openInProcessTransport(options: SqliteOptions): Promise<Transport> {
  let writer: Writer | undefined;
  let opening: Promise<Writer> | undefined;
  const looking = openIfCurrent(options.file);
  // A database that is new, old or broken is the writer's matter.
  if (looking === undefined) writer = await openWriting();
  const reader: Db = looking ?? openReader(options.file);
  const listeners = new Set<() => void>();
  const reading = new Set<Promise<unknown>>();
  /** The first read of its kind waits for its code; what was asked for after it must not overtake it. */
  let loading = 0;
  let queue: QueuedCall[] = [];
  let poll: NodeJS.Timeout | undefined;
  let seen = 0;
  let isClosed = false;

  async function openWriting(): Promise<Writer> {
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
      // Asked only for listeners: to ask takes as long as a small write.
      if (poll !== undefined) seen = foreignCommits();
      changed();
    }
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index] ?? { error: createClosedError() };
      if ("error" in outcome) reject(outcome.error);
      else resolve(outcome.value);
    });
    writer.scheduleIndexing();
  }
  function start(): void {
    if (loading > 0) void Promise.allSettled(reading).then(start);
    else if (writer === undefined && queue.length > 0) void firstDrain();
    else drain();
  }
  /** The first calls wait for the writer; what cannot be opened fails them all. */
  async function firstDrain(): Promise<void> {
    try {
      opening ??= openWriting();
      writer = await opening;
      seen = Number.NaN; // its numbers are others than the reader's: look once more
    } catch (error) {
      opening = undefined;
      for (const { reject } of queue.splice(0)) reject(error);
    }
    drain();
  }
  /** Each by itself: a listener's failure is its own, not that of the write it is told of. */
  function changed(): void {
    for (const listener of listeners) queueMicrotask(listener);
  }
  function foreignCommits(): number {
    // The writer's own commits do not count for itself; for the reader they are another's, as its index work would be.
    if (writer !== undefined) return writer.readDataVersion();
    try {
      return Number(reader.pragma("data_version"));
    } catch {
      return seen; // another process repairs the log of one that was killed; the next look tells
    }
  }

  async function loadRead(name: string): Promise<StoreOperation> {
    loading += 1;
    try {
      return await findOperation(name).load();
    } finally {
      loading -= 1;
    }
  }
  async function readNow(name: string, input: unknown): Promise<unknown> {
    try {
      const operation = await loadRead(name);
      return await retryBusyAsync(() => operation(reader, input));
    } catch (error) {
      throw toStoreError(error, options.file);
    }
  }

  return {
    write(name, input) {
      if (isClosed) return Promise.reject(createClosedError());
      return new Promise((resolve, reject) => {
        queue.push({ call: { name, input }, resolve, reject });
        // Not a microtask: callers that only await the store would never let the loop turn.
        if (queue.length === 1) setImmediate(start);
      });
    },
    read(name, input) {
      if (isClosed) return Promise.reject(createClosedError());
      const answer = readNow(name, input).finally(() => reading.delete(answer));
      reading.add(answer);
      return answer;
    },
    onChange(listener) {
      listeners.add(listener);
      if (poll === undefined && !isClosed) {
        seen = foreignCommits();
        poll = setInterval(() => {
          const now = foreignCommits();
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
      isClosed = true;
      if (writer === undefined && queue.length > 0) await firstDrain();
      drain();
      clearInterval(poll);
      await Promise.allSettled(reading);
      // The last connection to go, if it may write, leaves one whole file behind.
      reader.close();
      writer?.close();
    },
  };
}
