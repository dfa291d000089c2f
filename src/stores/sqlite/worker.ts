import module from "node:module";
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { PostriderError } from "../../core/errors.ts";
import { openReader, type WriterOptions } from "./connection.ts";
import { storeError } from "./failure.ts";
import { type Call, type Outcome, read } from "./operations.ts";
import { startWriter } from "./writer.ts";

/** What the two workers and the main thread say to each other. */
export interface WorkerStart {
  readonly role: "writer" | "reader";
  readonly options: WriterOptions;
}

export type ToWorker =
  | { readonly calls: readonly NumberedCall[] }
  | { readonly listen: boolean }
  | { readonly close: true };

export type FromWorker =
  | { readonly ready: true }
  | { readonly failed: PlainError }
  | { readonly outcomes: readonly NumberedOutcome[] }
  | { readonly changed: true }
  | { readonly closed: true };

export type NumberedCall = readonly [number: number, name: string, input: unknown];
export type NumberedOutcome = readonly [number: number, value: unknown, error?: PlainError];

/** An error as it crosses threads; classes do not survive the crossing. */
export interface PlainError {
  readonly code: PostriderError["code"];
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Another process's commit is noticed within this and the time to read it. */
const POLL_MS = 100;

module.enableCompileCache?.();
const { role, options } = workerData as WorkerStart;
if (parentPort !== null) serve(parentPort);

function serve(port: MessagePort): void {
  let worker: Serving;
  try {
    worker = role === "writer" ? serveWrites(port) : serveReads();
  } catch (error) {
    port.postMessage({ failed: plain(storeError(error, options.file)) } satisfies FromWorker);
    port.close();
    return;
  }
  port.on("message", (first: ToWorker) => {
    // Everything that has arrived meanwhile goes into the same commit.
    const calls: NumberedCall[] = [];
    for (
      let message: ToWorker | undefined = first;
      message !== undefined;
      message = receiveMessageOnPort(port)?.message
    ) {
      if ("calls" in message) calls.push(...message.calls);
      else if ("listen" in message) worker.listen(message.listen);
      else {
        answer(port, worker, calls.splice(0));
        worker.close();
        port.postMessage({ closed: true } satisfies FromWorker);
        port.close();
        return;
      }
    }
    answer(port, worker, calls);
  });
  port.postMessage({ ready: true } satisfies FromWorker);
}

interface Serving {
  run(calls: readonly Call[]): Outcome[];
  listen(on: boolean): void;
  close(): void;
}

function answer(port: MessagePort, worker: Serving, calls: readonly NumberedCall[]): void {
  if (calls.length === 0) return;
  const outcomes = worker.run(calls.map(([, name, input]) => ({ name, input })));
  port.postMessage({
    outcomes: outcomes.map((outcome, index): NumberedOutcome => {
      const number = calls[index]?.[0] ?? 0;
      return "error" in outcome
        ? [number, undefined, plain(storeError(outcome.error, options.file))]
        : [number, outcome.value];
    }),
  } satisfies FromWorker);
}

function serveWrites(port: MessagePort): Serving {
  const writer = startWriter(options);
  let poll: NodeJS.Timeout | undefined;
  return {
    run: writer.run,
    listen(on) {
      clearInterval(poll);
      if (!on) return;
      let seen = writer.foreignCommits();
      poll = setInterval(() => {
        const now = writer.foreignCommits();
        if (now === seen) return;
        seen = now;
        port.postMessage({ changed: true } satisfies FromWorker);
      }, POLL_MS);
    },
    close() {
      clearInterval(poll);
      writer.close();
    },
  };
}

function serveReads(): Serving {
  const db = openReader(options.file);
  return {
    run: (calls) =>
      calls.map(({ name, input }) => {
        try {
          return { value: read(name)(db, input) };
        } catch (error) {
          return { error };
        }
      }),
    listen() {},
    close: () => db.close(),
  };
}

function plain(error: PostriderError): PlainError {
  return { code: error.code, message: error.message, details: error.details };
}
