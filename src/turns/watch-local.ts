import type { NewMessage } from "../core/message.ts";
import type { Process } from "../core/process.ts";
import {
  buildProcessReport,
  findDueReport,
  formatEnd,
  formatMatches,
  formatProgress,
  type ReportKind,
} from "../core/process-report.ts";
import type { Clock } from "../ports/clock.ts";
import type { WakeResult } from "../ports/process-store.ts";
import type { Store } from "../ports/store.ts";
import { isStoreClosed } from "./active-turns.ts";
import {
  buildWakeMessage,
  explainNotWoken,
  type ProcessTail,
  readProcessTail,
  toPlainMatches,
} from "./process-output.ts";

export interface LocalWatchOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Whether this chat gets the reports of the process. */
  isMine(process: Process): boolean;
  /** Shows a report directly, without the outbox. */
  show(text: string, process: Process): void;
  /** Has the agent answer to the end of the process. Absent: the end is only shown. */
  wake?(process: string, message: NewMessage): Promise<WakeResult["state"]>;
  /** A poll failed; the next one tries again. */
  onError?(error: unknown): void;
  readonly signal: AbortSignal;
}

const POLL_EVERY_MS = 5000;
const POLL_DELAY_MS = 250;

/** Reports the processes of a terminal or an editor until the signal aborts. Resolves when no poll runs. */
export function watchLocalProcesses(options: LocalWatchOptions): Promise<void> {
  const { store, signal } = options;
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    let polling = Promise.resolve();
    const poll = (): void => {
      timer = undefined;
      polling = polling
        .then(() => pollLocalProcesses(options))
        .catch((error: unknown) => {
          if (!signal.aborted && !isStoreClosed(error)) options.onError?.(error);
        });
    };
    const unlisten = store.onChange(() => {
      timer ??= setTimeout(poll, POLL_DELAY_MS);
    });
    const every = setInterval(poll, POLL_EVERY_MS);
    signal.addEventListener("abort", end, { once: true });
    poll();
    if (signal.aborted) end();

    function end(): void {
      unlisten();
      clearInterval(every);
      clearTimeout(timer);
      polling.then(resolve);
    }
  });
}

/** Marks each due report as shown, then shows it. */
export async function pollLocalProcesses(options: LocalWatchOptions): Promise<void> {
  const { store, clock, signal } = options;
  for (const process of await store.processes.listWatchedProcesses()) {
    if (signal.aborted) return;
    const kind = options.isMine(process) ? findDueReport(process, clock.now()) : undefined;
    if (kind !== undefined) await reportProcess(options, process, kind);
  }
}

async function reportProcess(options: LocalWatchOptions, process: Process, kind: ReportKind): Promise<void> {
  const { store, clock } = options;
  const output = await readProcessTail(store, process);
  let explanation = "";
  if (process.status.state === "ended" && process.watch.wakes && options.wake !== undefined) {
    const state = await options.wake(process.id, buildWakeMessage(process, output));
    if (state !== "elsewhere") return;
    explanation = process.watch.mode === "off" ? "" : await explainNotWoken(store, process);
  }
  const text =
    explanation === "" ? formatReport(kind, process, output, clock.now()) : formatEnd(process, output.text);
  // Marked first: a crash in between loses the report, but two processes never show it twice.
  const isMine = await store.processes.markProcessReported({
    ...buildReport(kind, process, output),
    now: clock.now(),
  });
  if (isMine && text !== undefined)
    options.show(explanation === "" ? text : `${text}\n\n${explanation}`, process);
}

function formatReport(
  kind: ReportKind,
  process: Process,
  output: ProcessTail,
  now: number,
): string | undefined {
  if (kind === "progress") return formatProgress(process, output.text, now);
  if (kind === "matched") return formatMatches(toPlainMatches(process));
  return kind === "ended" ? formatEnd(toPlainMatches(process), output.text) : undefined;
}

function buildReport(
  kind: ReportKind,
  process: Process,
  output: ProcessTail,
): ReturnType<typeof buildProcessReport> {
  const all = buildProcessReport(process, output.total);
  if (kind === "progress") return { ...all, matches: process.reported.matches };
  return kind === "matched" && !all.end ? { ...all, upTo: process.reported.upTo } : all;
}
