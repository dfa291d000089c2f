import { type MessagePort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { PostriderError } from "../../core/errors.ts";
import {
  type CallOutcome,
  type LoadedOperations,
  loadOperations,
  type WriteCall,
} from "../sql/operations.ts";
import { openReader, type WriterOptions } from "./connection.ts";
import { type HistoryPiece, type HistoryRead, PIECES, readPieces } from "./history-pieces.ts";
import { readSnapshot } from "./snapshot.ts";
import { createSpinGate } from "./spin-gate.ts";
import { retryBusy, toStoreError } from "./store-errors.ts";
import { startWriter } from "./writer.ts";

/** The start data and messages of the two workers. */
export interface WorkerStart {
  readonly role: "writer" | "reader";
  readonly options: WriterOptions;
  /** Calls come here, and outcomes leave here. */
  readonly port: MessagePort;
  /** 1 while this thread waits awake for a call. */
  readonly awake: Int32Array<SharedArrayBuffer>;
}

export type ToWorker =
  | { readonly calls: readonly NumberedCall[] }
  | { readonly listen: boolean }
  | { readonly close: true };

export type FromWorker =
  | { readonly ready: true }
  | { readonly failed: PlainError }
  | { readonly outcomes: readonly NumberedOutcome[] }
  | { readonly piece: NumberedPiece }
  | { readonly changed: true }
  | { readonly closed: true };

export type NumberedCall = readonly [number: number, name: string, input: unknown];
export type NumberedOutcome = readonly [number: number, value: unknown, error?: PlainError];

/** A part of an answer that comes before its outcome. */
export type NumberedPiece = readonly [number: number, index: number, piece: HistoryPiece];

/** An error in a form that can cross threads; classes cannot. */
export interface PlainError {
  readonly code: PostriderError["code"];
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A commit of another process is noticed within this time. */
const POLL_MS = 100;
const SPIN_MS = 0.2;
/** Including the time to wake up. */
const SHORT_WAIT_MS = 0.3;
const gate = createSpinGate(SHORT_WAIT_MS);

const { role, options, port, awake } = workerData as WorkerStart;

/** Runs a worker from its start to its end. */
export async function serveWorker(): Promise<void> {
  let worker: WorkerService;
  try {
    worker = await (role === "writer" ? serveWrites() : serveReads());
  } catch (error) {
    port.postMessage({ failed: toPlainError(toStoreError(error, options.file)) } satisfies FromWorker);
    port.close();
    return;
  }
  let idleSince = performance.now();
  port.on("message", (first: ToWorker) => {
    gate.record(performance.now() - idleSince);
    for (let message: ToWorker | undefined = first; message !== undefined; message = receiveSoon()) {
      // All messages that have arrived go into the same commit.
      const calls: NumberedCall[] = [];
      for (; message !== undefined; message = receiveMessageOnPort(port)?.message) {
        if ("calls" in message) calls.push(...message.calls);
        else if ("listen" in message) worker.listen(message.listen);
        else return shutDown(worker, calls);
      }
      // Before the answer: the next call comes right after it.
      if (gate.isOpen()) Atomics.store(awake, 0, 1);
      worker.run(calls);
      idleSince = performance.now();
    }
  });
  port.postMessage({ ready: true } satisfies FromWorker);
}

interface WorkerService {
  /** Answers every call. */
  run(calls: readonly NumberedCall[]): void;
  listen(on: boolean): void;
  close(): void;
}

/**
 * For a caller that makes one call after the other, waking this thread costs more than the call itself, and its next call
 * comes at once or not at all.
 */
function receiveSoon(): ToWorker | undefined {
  if (!gate.isOpen()) return undefined;
  const until = performance.now() + SPIN_MS;
  for (;;) {
    const message: ToWorker | undefined = receiveMessageOnPort(port)?.message;
    if (message !== undefined) {
      gate.record(0);
      return message;
    }
    if (performance.now() > until) {
      Atomics.store(awake, 0, 0);
      // A call may have come before the caller could know.
      return receiveMessageOnPort(port)?.message;
    }
  }
}

function shutDown(worker: WorkerService, calls: readonly NumberedCall[]): void {
  worker.run(calls);
  worker.close();
  port.postMessage({ closed: true } satisfies FromWorker);
  port.close();
}

async function serveWrites(): Promise<WorkerService> {
  const writer = startWriter(options, await loadOperations("write", "tryWrite"));
  let poll: NodeJS.Timeout | undefined;
  // Not read when a listener is added: this thread hears of it later, and would miss a commit in between.
  let lastVersion = writer.readDataVersion();
  return {
    run(calls) {
      if (calls.length === 0) return;
      const outcomes = writer.run(calls.map(([, name, input]) => ({ name, input }) as WriteCall));
      postOutcomes(outcomes.map((outcome, index) => toNumberedOutcome(calls[index]?.[0] ?? 0, outcome)));
      writer.scheduleIndexing();
    },
    listen(on) {
      clearInterval(poll);
      if (!on) return;
      poll = setInterval(() => {
        const version = writer.readDataVersion();
        if (version === lastVersion) return;
        lastVersion = version;
        port.postMessage({ changed: true } satisfies FromWorker);
      }, POLL_MS);
    },
    close() {
      clearInterval(poll);
      writer.close();
    },
  };
}

async function serveReads(): Promise<WorkerService> {
  const operations: LoadedOperations = await loadOperations("read", "readLong");
  const db = openReader(options.file);
  const read = (number: number, name: string, input: unknown): unknown => {
    if (name === PIECES) {
      return readPieces(db, input as HistoryRead, (index, piece) => {
        port.postMessage({ piece: [number, index, piece] } satisfies FromWorker);
      });
    }
    const operation = operations.get(name);
    if (operation === undefined) throw new Error(`${name} is not a read of the store`);
    return operation(db, input);
  };
  const runRead = (...call: NumberedCall): CallOutcome => {
    try {
      return { value: retryBusy(() => readSnapshot(db, () => read(...call))) };
    } catch (error) {
      return { error };
    }
  };
  return {
    // One by one: a short read must not wait for a long one after it.
    run(calls) {
      for (const call of calls) postOutcomes([toNumberedOutcome(call[0], runRead(...call))]);
    },
    listen() {},
    close: () => db.close(),
  };
}

function postOutcomes(outcomes: readonly NumberedOutcome[]): void {
  port.postMessage({ outcomes } satisfies FromWorker);
}

function toNumberedOutcome(number: number, outcome: CallOutcome): NumberedOutcome {
  if (!("error" in outcome)) return [number, outcome.value];
  return [number, undefined, toPlainError(toStoreError(outcome.error, options.file))];
}

function toPlainError(error: PostriderError): PlainError {
  return { code: error.code, message: error.message, details: error.details };
}
