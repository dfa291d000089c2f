import { Worker } from "node:worker_threads";
import { PostriderError } from "../../core/errors.ts";
import type { FromWorker, NumberedCall, PlainError, ToWorker, WorkerStart } from "./serve-worker.ts";
import { createClosedError } from "./store-errors.ts";

/** Calls to one worker. Those of one tick travel together; a worker's death rejects every one that waits. */
export interface WorkerChannel {
  call(name: string, input: unknown): Promise<unknown>;
  listen(on: boolean): void;
  close(): Promise<void>;
}

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Sources run in a clone, built files in the published package; the worker is of the same sort. */
const WORKER_FILE = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

export function openWorkerChannel(start: WorkerStart, onChanged: () => void): Promise<WorkerChannel> {
  const worker = new Worker(WORKER_FILE, {
    workerData: start,
    name: `postrider-${start.role}`,
    // Not the program's own flags: one of them, --input-type, would refuse a file.
    execArgv: [],
  });
  const waiting = new Map<number, PendingCall>();
  let outgoing: NumberedCall[] = [];
  let numbers = 0;
  let listening = false;
  let closing: Promise<void> | undefined;
  let dead: PostriderError | undefined;
  const { promise: opened, ...opening } = Promise.withResolvers<WorkerChannel>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();

  const channel: WorkerChannel = {
    call(name, input) {
      if (dead !== undefined) return Promise.reject(dead);
      if (closing !== undefined) return Promise.reject(createClosedError());
      return new Promise((resolve, reject) => {
        numbers += 1;
        waiting.set(numbers, { resolve, reject });
        outgoing.push([numbers, name, input]);
        if (outgoing.length > 1) return;
        rest();
        process.nextTick(post);
      });
    },
    listen(on) {
      listening = on;
      worker.postMessage({ listen: on } satisfies ToWorker);
      rest();
    },
    close() {
      if (dead !== undefined) return Promise.resolve();
      closing ??= ended;
      post();
      worker.ref();
      worker.postMessage({ close: true } satisfies ToWorker);
      return closing;
    },
  };

  /** After the tick's promises have run: whoever they woke has made its next call by now. */
  function post(): void {
    if (outgoing.length === 0) return;
    const calls = outgoing;
    outgoing = [];
    try {
      worker.postMessage({ calls } satisfies ToWorker);
    } catch {
      // One input cannot be copied to another thread. Alone, each shows whether it was the one.
      for (const call of calls) postAlone(call);
    }
  }

  function postAlone(call: NumberedCall): void {
    try {
      worker.postMessage({ calls: [call] } satisfies ToWorker);
    } catch (cause) {
      take(call[0])?.reject(
        new PostriderError(
          "invalid_input",
          `The input of ${call[1]} holds something that is not plain data.`,
          { cause },
        ),
      );
    }
  }

  function take(number: number): PendingCall | undefined {
    const found = waiting.get(number);
    waiting.delete(number);
    rest();
    return found;
  }

  /** An idle thread does not keep the process alive; a call under way, a listener or its own end does. */
  function rest(): void {
    if (waiting.size === 0 && !listening && closing === undefined) worker.unref();
    else worker.ref();
  }

  worker.on("message", (message: FromWorker) => {
    if ("outcomes" in message) {
      for (const [number, value, error] of message.outcomes) {
        const call = take(number);
        if (error === undefined) call?.resolve(value);
        else call?.reject(toPostriderError(error));
      }
    } else if ("changed" in message) onChanged();
    else if ("ready" in message) {
      rest();
      opening.resolve(channel);
    } else if ("failed" in message) die(toPostriderError(message.failed));
  });
  worker.on("error", (cause) =>
    die(new PostriderError("internal", "The database thread stopped. Open the store again.", { cause })),
  );
  worker.on("exit", () => {
    if (waiting.size > 0 || closing === undefined) {
      die(
        new PostriderError("closed", "The database thread ended before it answered. Open the store again."),
      );
    }
    end();
  });

  function die(error: PostriderError): void {
    dead ??= error;
    opening.reject(dead);
    for (const number of [...waiting.keys()]) take(number)?.reject(dead);
  }

  return opened;
}

function toPostriderError(error: PlainError): PostriderError {
  return new PostriderError(error.code, error.message, { details: { ...error.details } });
}
