import { parentPort, workerData } from "node:worker_threads";
import { storeError } from "../failure.ts";
import { copyDatabase } from "./copying.ts";

/** What a copying thread says at its end. Classes do not survive the crossing between threads. */
export type SaidByCopier =
  | { readonly copied: Awaited<ReturnType<typeof copyDatabase>> }
  | { readonly failed: { readonly code: string; readonly message: string } };

const { from, to } = workerData as { from: string; to: string };
let stopped = false;
parentPort?.on("message", () => {
  stopped = true;
});
try {
  const copied = await copyDatabase({ from, to, isStopped: () => stopped });
  parentPort?.postMessage({ copied } satisfies SaidByCopier);
} catch (error) {
  const { code, message } = storeError(error, to);
  parentPort?.postMessage({ failed: { code, message } } satisfies SaidByCopier);
}
parentPort?.close();
