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
  /** Whether whoever is to be told of it sits here. */
  isMine(process: Process): boolean;
  /** Shows it: there is no outbox between. */
  show(words: string, process: Process): void;
  /** Has the agent answer to its end. Without it, the end is only told. */
  wake?(process: string, message: NewMessage): Promise<WakeResult["state"]>;
  /** What failed; the next look tries again. */
  onError?(error: unknown): void;
  readonly signal: AbortSignal;
}

const POLL_EVERY_MS = 5000;
const POLL_DELAY_MS = 250;

/** Tells a terminal or an editor of its programs until the signal aborts. Resolves when nothing is being told any more. */
export function watchLocalProcesses(options: LocalWatchOptions): Promise<void> {
  const { store, signal } = options;
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    let looking = Promise.resolve();
    const look = (): void => {
      timer = undefined;
      looking = looking
        .then(() => pollLocalProcesses(options))
        .catch((error: unknown) => {
          if (!signal.aborted && !isStoreClosed(error)) options.onError?.(error);
        });
    };
    const unlisten = store.onChange(() => {
      timer ??= setTimeout(look, POLL_DELAY_MS);
    });
    const every = setInterval(look, POLL_EVERY_MS);
    signal.addEventListener("abort", end, { once: true });
    look();
    if (signal.aborted) end();

    function end(): void {
      unlisten();
      clearInterval(every);
      clearTimeout(timer);
      looking.then(resolve);
    }
  });
}

/** One look: whatever is due is marked as told, then told. */
export async function pollLocalProcesses(options: LocalWatchOptions): Promise<void> {
  const { store, clock, signal } = options;
  for (const process of await store.processes.listWatchedProcesses()) {
    if (signal.aborted) return;
    const news = options.isMine(process) ? findDueReport(process, clock.now()) : undefined;
    if (news !== undefined) await reportNews(options, process, news);
  }
}

async function reportNews(options: LocalWatchOptions, process: Process, news: ReportKind): Promise<void> {
  const { store, clock } = options;
  const output = await readProcessTail(store, process);
  let more = "";
  if (process.status.state === "ended" && process.watch.wakes && options.wake !== undefined) {
    const state = await options.wake(process.id, buildWakeMessage(process, output));
    if (state !== "elsewhere") return;
    more = process.watch.mode === "off" ? "" : await explainNotWoken(store, process);
  }
  const words =
    more === "" ? formatNews(news, process, output, clock.now()) : formatEnd(process, output.text);
  // Marked first: what falls in between is missed, where two who look would both have told it.
  const isMine = await store.processes.markProcessReported({
    ...buildReport(news, process, output),
    now: clock.now(),
  });
  if (isMine && words !== undefined) options.show(more === "" ? words : `${words}\n\n${more}`, process);
}

function formatNews(
  news: ReportKind,
  process: Process,
  output: ProcessTail,
  now: number,
): string | undefined {
  if (news === "progress") return formatProgress(process, output.text, now);
  if (news === "matched") return formatMatches(toPlainMatches(process));
  return news === "ended" ? formatEnd(toPlainMatches(process), output.text) : undefined;
}

function buildReport(
  news: ReportKind,
  process: Process,
  output: ProcessTail,
): ReturnType<typeof buildProcessReport> {
  const all = buildProcessReport(process, output.total);
  if (news === "progress") return { ...all, matches: process.reported.matches };
  return news === "matched" && !all.end ? { ...all, upTo: process.reported.upTo } : all;
}
