import { performance } from "node:perf_hooks";
import type { Process } from "../core/process.ts";
import { awaitChange } from "../sessions/await-change.ts";
import type { ToolContext } from "./tool-context.ts";

/** The polling interval, in case a change notification is lost. */
const POLL_MS = 2000;

/** Waits for the end of a process, an abort or the time-out. Undefined if the process is no longer visible. */
export async function waitForProcessEnd(
  { store, asker, processes }: ToolContext,
  id: string,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Process | undefined> {
  const end = performance.now() + timeoutMs;
  const over = new AbortController();
  // Writes of other processes are seen after 100 ms; the keeper notifies at once.
  let notified: Promise<void> | undefined = processes.waitForEnd(id, AbortSignal.any([signal, over.signal]));
  void notified.then(() => {
    notified = undefined;
  });
  for (;;) {
    const left = end - performance.now();
    const change = awaitChange(store, signal, Math.min(left, POLL_MS));
    try {
      const process = await store.processes.getProcess({ asker, id });
      const isOver = process === undefined || process.status.state === "ended";
      if (isOver || signal.aborted || left <= 0) {
        over.abort();
        return process;
      }
      await Promise.race([change.happened, ...(notified === undefined ? [] : [notified])]);
    } finally {
      change.forget();
    }
  }
}
