import type { NewMessage } from "../core/message.ts";
import type { Process } from "../core/process.ts";
import { endedText, matchedText, type News, newsOf, progressText, tellingOf } from "../core/process-news.ts";
import type { Clock } from "../ports/clock.ts";
import type { Woken } from "../ports/processes.ts";
import type { Store } from "../ports/store.ts";
import { isClosed } from "./closed.ts";
import { type Printed, printed, withPlainLines } from "./process-output.ts";
import { wakeMessage, whyNotWoken } from "./wake-words.ts";

export interface WatchHere {
  readonly store: Store;
  readonly clock: Clock;
  /** Whether whoever is to be told of it sits here. */
  isMine(process: Process): boolean;
  /** Shows it: there is no outbox between. */
  tell(words: string, process: Process): void;
  /** Has the agent answer to its end. Without it, the end is only told. */
  wake?(process: string, message: NewMessage): Promise<Woken["state"]>;
  /** What failed; the next look tries again. */
  failed?(error: unknown): void;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 5000;
const LOOK_AFTER_MS = 250;

/** Tells a terminal or an editor of its programs until the signal aborts. Resolves when nothing is being told any more. */
export function watchHere(options: WatchHere): Promise<void> {
  const { store, signal } = options;
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    let looking = Promise.resolve();
    const look = (): void => {
      timer = undefined;
      looking = looking
        .then(() => lookHere(options))
        .catch((error: unknown) => {
          if (!signal.aborted && !isClosed(error)) options.failed?.(error);
        });
    };
    const unlisten = store.onChange(() => {
      timer ??= setTimeout(look, LOOK_AFTER_MS);
    });
    const every = setInterval(look, LOOK_EVERY_MS);
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
export async function lookHere(options: WatchHere): Promise<void> {
  const { store, clock, signal } = options;
  for (const process of await store.watchedProcesses()) {
    if (signal.aborted) return;
    const news = options.isMine(process) ? newsOf(process, clock.now()) : undefined;
    if (news !== undefined) await tell(options, process, news);
  }
}

async function tell(options: WatchHere, process: Process, news: News): Promise<void> {
  const { store, clock } = options;
  const output = await printed(store, process);
  let more = "";
  if (process.status.state === "ended" && process.watch.wakes && options.wake !== undefined) {
    const state = await options.wake(process.id, wakeMessage(process, output));
    if (state !== "elsewhere") return;
    more = process.watch.mode === "off" ? "" : await whyNotWoken(store, process);
  }
  const words = more === "" ? wordsFor(news, process, output, clock.now()) : endedText(process, output.text);
  // Marked first: what falls in between is missed, where two who look would both have told it.
  const isMine = await store.tellProcess({ ...tellingFor(news, process, output), now: clock.now() });
  if (isMine && words !== undefined) options.tell(more === "" ? words : `${words}\n\n${more}`, process);
}

function wordsFor(news: News, process: Process, output: Printed, now: number): string | undefined {
  if (news === "progress") return progressText(process, output.text, now);
  if (news === "matched") return matchedText(withPlainLines(process));
  return news === "ended" ? endedText(withPlainLines(process), output.text) : undefined;
}

function tellingFor(news: News, process: Process, output: Printed): ReturnType<typeof tellingOf> {
  const all = tellingOf(process, output.total);
  if (news === "progress") return { ...all, matches: process.told.matches };
  return news === "matched" && !all.end ? { ...all, upTo: process.told.upTo } : all;
}
