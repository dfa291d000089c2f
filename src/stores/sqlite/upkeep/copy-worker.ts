import { parentPort, workerData } from "node:worker_threads";
import { toStoreError } from "../store-errors.ts";
import { copyDatabase } from "./copy-database.ts";

/** The result of a copy thread. Classes cannot cross threads. */
export type CopyWorkerMessage =
  | { readonly copied: Awaited<ReturnType<typeof copyDatabase>> }
  | { readonly failed: { readonly code: string; readonly message: string } };

const { from, to } = workerData as { from: string; to: string };
let isStopped = false;
parentPort?.on("message", () => {
  isStopped = true;
});
try {
  const copied = await copyDatabase({ from, to, isStopped: () => isStopped });
  parentPort?.postMessage({ copied } satisfies CopyWorkerMessage);
} catch (error) {
  const { code, message } = toStoreError(error, to);
  parentPort?.postMessage({ failed: { code, message } } satisfies CopyWorkerMessage);
}
parentPort?.close();
