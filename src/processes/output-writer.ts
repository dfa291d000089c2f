import type { Exit, Process } from "../core/process.ts";
import { isRefused, type Refused } from "../core/refusal.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ProcessSteps } from "../ports/processes.ts";
import { streamMask } from "./masking.ts";
import { rolling } from "./rolling.ts";
import { lineWatch } from "./watch-lines.ts";

/** Into its row at most so often. */
const FLUSH_MS = 200;
/** A disk that is full, or a database that is busy, is asked again after this. */
const RETRY_MS = 1000;
/** While nothing can be stored, so many lines that matched are kept. */
const MOST_MATCHED = 100;

export interface OutputWriterOptions {
  readonly store: Pick<ProcessSteps, "keepOutput" | "endProcess">;
  readonly clock: Clock;
  readonly log: Log;
  readonly id: string;
  readonly keeper: string;
  readonly secrets: readonly string[];
  readonly patterns: readonly string[];
  /** Its row does not take any more: whoever it belonged to was erased, or another looks after it. */
  refused(why: Refused): void;
}

/** Writes what one program prints, and how it ends, into its row. */
export interface OutputWriter {
  printed(text: string): void;
  /** The row says that it runs: from now on, output is taken there. */
  begin(): void;
  /** The last output and the exit, in one commit. Resolves when that has happened, or can never happen. */
  end(exit: Exit): Promise<Process | undefined>;
}

export function outputWriter(options: OutputWriterOptions): OutputWriter {
  const { store, clock, log, id, keeper } = options;
  const output = rolling();
  const mask = streamMask(options.secrets);
  const lines = lineWatch(options.patterns);
  let matched: string[] = [];
  let [hasBegun, isOver, isFresh] = [false, false, false];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function add(text: string): void {
    output.add(text);
    note(lines.take(text, clock.now()));
  }

  function note(found: readonly string[]): void {
    if (found.length > 0) matched = [...matched, ...found].slice(-MOST_MATCHED);
  }

  function schedule(ms: number): void {
    if (!hasBegun || isOver || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      writing = flush();
    }, ms);
  }

  async function flush(): Promise<void> {
    const wasFresh = isFresh;
    isFresh = false;
    if (!wasFresh) {
      output.add(mask.idle());
      note(lines.idle(clock.now()));
    }
    const isStored = await stored();
    // Once more, also if nothing comes: what is held back may be shown then.
    if (!isStored) schedule(RETRY_MS);
    else if (wasFresh || isFresh) schedule(FLUSH_MS);
  }

  async function stored(): Promise<boolean> {
    const { from, text } = output.peek();
    const found = matched;
    if (text === "" && found.length === 0) return true;
    try {
      const kept = await store.keepOutput({
        id,
        keeper,
        from,
        text,
        ...(found.length > 0 && { matched: found }),
      });
      if (isRefused(kept)) {
        isOver = true;
        options.refused(kept);
      }
    } catch (error) {
      log.warn({ process: id, error }, "what a process prints cannot be stored now");
      return false;
    }
    output.drop(from + text.length);
    matched = matched.filter((line) => !found.includes(line));
    return true;
  }

  return {
    printed(text) {
      if (isOver) return;
      add(mask.take(text));
      isFresh = true;
      schedule(FLUSH_MS);
    },
    begin() {
      hasBegun = true;
      schedule(FLUSH_MS);
    },
    async end(exit) {
      isOver = true;
      clearTimeout(timer);
      await writing;
      add(mask.end());
      note(lines.idle(clock.now()));
      for (;;) {
        const { from, text } = output.peek();
        try {
          const ended = await store.endProcess({
            id,
            exit,
            output: { from, text, ...(matched.length > 0 && { matched }) },
            now: clock.now(),
          });
          return isRefused(ended) ? undefined : ended;
        } catch (error) {
          log.warn({ process: id, error }, "the end of a process cannot be stored now");
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
      }
    },
  };
}
