import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { PostriderError } from "../../core/errors.ts";
import type { HistoryPiece } from "./history-pieces.ts";
import type { FromWorker, NumberedCall, PlainError, ToWorker, WorkerStart } from "./serve-worker.ts";
import { createSpinGate } from "./spin-gate.ts";
import { createClosedError } from "./store-errors.ts";

/** Calls to one worker. Calls of one tick are sent together; if the worker dies, all pending calls are rejected. */
export interface WorkerChannel {
  /** `onPiece` gets the parts of an answer that come before its outcome; a retried read sends them again. */
  call(
    name: string,
    input: unknown,
    onPiece?: (index: number, piece: HistoryPiece) => void,
  ): Promise<unknown>;
  listen(on: boolean): void;
  close(): Promise<void>;
}

interface PendingCall {
  readonly onPiece: ((index: number, piece: HistoryPiece) => void) | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Sources run in a clone, built files in the published package; the worker file has the same extension. */
const WORKER_FILE = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

/** How long this thread waits awake for the answer to a single call. Longer than a commit to a disk in memory. */
const SPIN_MS = 0.2;
/** Including the time to wake up. */
const SHORT_WAIT_MS = 0.3;
/** Other events of this thread wait no longer than this for calls that are answered one after the other. */
const MAX_BLOCKED_MS = 1;

export function openWorkerChannel(
  start: Omit<WorkerStart, "port" | "awake">,
  onChanged: () => void,
): Promise<WorkerChannel> {
  const { port1: port, port2 } = new MessageChannel();
  const awake = new Int32Array(new SharedArrayBuffer(4));
  const gate = createSpinGate(SHORT_WAIT_MS);
  /** When the event loop last came to a message, and when this thread last posted calls. */
  let [lastEvent, lastPost] = [0, 0];
  const worker = new Worker(WORKER_FILE, {
    workerData: { ...start, port: port2, awake } satisfies WorkerStart,
    transferList: [port2],
    name: `postrider-${start.role}`,
    // Not the flags of this process: one of them, --input-type, would refuse a file.
    execArgv: [],
  });
  const pending = new Map<number, PendingCall>();
  let outgoing: NumberedCall[] = [];
  let numbers = 0;
  let listening = false;
  let closing: Promise<void> | undefined;
  let dead: PostriderError | undefined;
  const { promise: opened, ...opening } = Promise.withResolvers<WorkerChannel>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();

  const channel: WorkerChannel = {
    call(name, input, onPiece) {
      if (dead !== undefined) return Promise.reject(dead);
      if (closing !== undefined) return Promise.reject(createClosedError());
      return new Promise((resolve, reject) => {
        numbers += 1;
        pending.set(numbers, { resolve, reject, onPiece });
        outgoing.push([numbers, name, input]);
        if (outgoing.length > 1) return;
        updateRef();
        process.nextTick(post);
      });
    },
    listen(on) {
      listening = on;
      port.postMessage({ listen: on } satisfies ToWorker);
      updateRef();
    },
    close() {
      if (dead !== undefined) return Promise.resolve();
      closing ??= ended;
      post();
      updateRef();
      port.postMessage({ close: true } satisfies ToWorker);
      return closing;
    },
  };

  /** Runs after the promises of the tick: their callers have made their next calls by then. */
  function post(): void {
    if (outgoing.length === 0) return;
    const calls = outgoing;
    outgoing = [];
    try {
      port.postMessage({ calls } satisfies ToWorker);
    } catch {
      // One input cannot be cloned. Sent alone, each call shows whether it is the one.
      for (const call of calls) postAlone(call);
      return;
    }
    lastPost = performance.now();
    receiveSoon();
  }

  function postAlone(call: NumberedCall): void {
    try {
      port.postMessage({ calls: [call] } satisfies ToWorker);
    } catch (cause) {
      take(call[0])?.reject(
        new PostriderError(
          "invalid_input",
          `The input of ${call[1]} contains a value that is not plain data.`,
          { cause },
        ),
      );
    }
  }

  function take(number: number): PendingCall | undefined {
    const found = pending.get(number);
    pending.delete(number);
    updateRef();
    return found;
  }

  /** An idle thread does not keep the process alive; a pending call, a listener or a close does. */
  function updateRef(): void {
    const change = pending.size === 0 && !listening && closing === undefined ? "unref" : "ref";
    port[change]();
    worker[change]();
  }

  /**
   * Waking this thread up costs more than a commit to a fast disk. So it waits awake for the answer to a single call while
   * the worker is awake, too, and thus on another core; but not for long, and not for many calls in a row.
   */
  function receiveSoon(): void {
    if (pending.size !== 1 || Atomics.load(awake, 0) === 0 || !gate.isOpen()) return;
    if (lastPost > lastEvent + MAX_BLOCKED_MS) return;
    while (performance.now() < lastPost + SPIN_MS) {
      const message: FromWorker | undefined = receiveMessageOnPort(port)?.message;
      if (message === undefined) continue;
      gate.record(0);
      receive(message);
      return;
    }
  }

  port.on("message", (message: FromWorker) => {
    lastEvent = performance.now();
    gate.record(lastEvent - lastPost);
    receive(message);
  });

  function receive(message: FromWorker): void {
    if ("outcomes" in message) {
      for (const [number, value, error] of message.outcomes) {
        const call = take(number);
        if (error === undefined) call?.resolve(value);
        else call?.reject(toPostriderError(error));
      }
    } else if ("piece" in message) {
      const [number, index, piece] = message.piece;
      pending.get(number)?.onPiece?.(index, piece);
    } else if ("changed" in message) onChanged();
    else if ("ready" in message) {
      updateRef();
      opening.resolve(channel);
    } else if ("failed" in message) die(toPostriderError(message.failed));
  }
  worker.on("error", (cause) =>
    die(new PostriderError("internal", "The database thread stopped. Open the store again.", { cause })),
  );
  worker.on("exit", () => {
    // The last answers may come after this event.
    for (let last = receiveMessageOnPort(port); last !== undefined; last = receiveMessageOnPort(port))
      receive(last.message);
    if (pending.size > 0 || closing === undefined) {
      die(
        new PostriderError("closed", "The database thread ended before it answered. Open the store again."),
      );
    }
    end();
  });

  function die(error: PostriderError): void {
    dead ??= error;
    opening.reject(dead);
    for (const number of [...pending.keys()]) take(number)?.reject(dead);
  }

  return opened;
}

function toPostriderError(error: PlainError): PostriderError {
  return new PostriderError(error.code, error.message, { details: { ...error.details } });
}
