import { Worker } from "node:worker_threads";
import { type ErrorCode, PostriderError } from "../../../core/errors.ts";
import type { CopyResult } from "./copy-database.ts";
import type { CopyWorkerMessage } from "./copy-worker.ts";

/** Sources run in a clone, built files in the published package; the worker is of the same sort. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith(".ts") ? "./copy-worker.ts" : "./copy-worker.js",
  import.meta.url,
);

/**
 * `copyDatabase` in a thread of its own: to check a large copy takes seconds, which no loop may wait. Resolves to
 * `undefined` when the signal ended it first; nothing of the copy is left then.
 */
export function copyInThread(from: string, to: string, signal: AbortSignal): Promise<CopyResult | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  const worker = new Worker(WORKER_FILE, { workerData: { from, to }, name: "postrider-copy", execArgv: [] });
  // A copy under way does not keep a program from ending; the next start makes it.
  worker.unref();
  const stop = (): void => {
    worker.ref();
    worker.postMessage("stop");
  };
  signal.addEventListener("abort", stop);
  return new Promise<CopyResult | undefined>((resolve, reject) => {
    let said: CopyWorkerMessage | undefined;
    worker.on("message", (message: CopyWorkerMessage) => {
      said = message;
    });
    worker.on("error", reject);
    // Not before the thread is gone: then nothing of it runs any more.
    worker.on("exit", () => {
      if (said === undefined) reject(new PostriderError("internal", "The copying thread ended too early."));
      else if ("copied" in said) resolve(said.copied);
      else if (signal.aborted && said.failed.code === "closed") resolve(undefined);
      else reject(new PostriderError(said.failed.code as ErrorCode, said.failed.message));
    });
  }).finally(() => signal.removeEventListener("abort", stop));
}
