import { Worker } from "node:worker_threads";
import { type ErrorCode, PostriderError } from "../../../core/errors.ts";
import type { CopyResult } from "./copy-database.ts";
import type { CopyWorkerMessage } from "./copy-worker.ts";

/** Sources run in a clone, built files in the published package; the worker file has the same extension. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith(".ts") ? "./copy-worker.ts" : "./copy-worker.js",
  import.meta.url,
);

/**
 * `copyDatabase` in its own thread: checking a large copy takes seconds, which would block an event loop. Resolves with
 * `undefined` if the signal stopped it first; no file of the copy is left then.
 */
export function copyInThread(from: string, to: string, signal: AbortSignal): Promise<CopyResult | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  const worker = new Worker(WORKER_FILE, { workerData: { from, to }, name: "postrider-copy", execArgv: [] });
  // A copy in progress does not keep the process alive; the next start repeats it.
  worker.unref();
  const stop = (): void => {
    worker.ref();
    worker.postMessage("stop");
  };
  signal.addEventListener("abort", stop);
  return new Promise<CopyResult | undefined>((resolve, reject) => {
    let result: CopyWorkerMessage | undefined;
    worker.on("message", (message: CopyWorkerMessage) => {
      result = message;
    });
    worker.on("error", reject);
    // Only after the exit of the thread: then none of its work runs.
    worker.on("exit", () => {
      if (result === undefined) reject(new PostriderError("internal", "The copy thread ended too early."));
      else if ("copied" in result) resolve(result.copied);
      else if (signal.aborted && result.failed.code === "closed") resolve(undefined);
      else reject(new PostriderError(result.failed.code as ErrorCode, result.failed.message));
    });
  }).finally(() => signal.removeEventListener("abort", stop));
}
