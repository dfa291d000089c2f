import { type Exit, KEPT_OUTPUT, type Process } from "../core/process.ts";
import { isRefused, type Refused } from "../core/refusal.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { pause } from "../system/pause.ts";
import { type Bookmark, formatBookmark } from "./bookmark.ts";
import { createStreamMask } from "./masking.ts";
import { createOutputBuffer } from "./output-buffer.ts";
import type { OutputPosition } from "./output-reader.ts";
import { createLineWatch } from "./watch-lines.ts";

/** Into its row at most so often. */
const FLUSH_MS = 200;
/** A disk that is full, or a database that is busy, is asked again after this. */
const RETRY_MS = 1000;
/** While nothing can be stored, so many lines that matched are kept. */
const MOST_MATCHED = 100;

export interface OutputWriterOptions {
  readonly store: Pick<Store, "processes">;
  readonly clock: Clock;
  readonly log: Log;
  readonly id: string;
  readonly keeper: string;
  /** `undefined` when they are not known any more: then no output is stored, since it may hold them. */
  readonly secrets: readonly string[] | undefined;
  readonly patterns: readonly string[];
  /** What a keeper before this one has stored. */
  readonly before?: StoredOutput;
  /** The place of a byte of the output, and what is to happen when all before a place is stored. */
  getPosition(byte: number): OutputPosition;
  release(place: OutputPosition): void;
  /** Its row does not take any more: whoever it belonged to was erased, or another looks after it. */
  onRefused(why: Refused): void;
}

export interface StoredOutput {
  readonly total: number;
  /** Characters after the bookmark that are stored already. */
  readonly shown: number;
  /** The last line, when it had no end yet. */
  readonly line: string;
}

/** Stands in the place of output that cannot be stored. */
const OUTPUT_LOST_NOTE =
  "(What it printed after the keeper of processes was killed is not kept: the secrets to take out of it are not known any more.)\n";

/** Writes what one program prints, and how it ends, into its row. */
export interface OutputWriter {
  write(text: string, upTo: number): void;
  /** The row says that it runs: from now on, output is taken there. */
  begin(): void;
  /** The last output and the exit, in one commit. Resolves when that has happened, or can never happen. */
  end(exit: Exit, at?: number): Promise<Process | undefined>;
}

export function createOutputWriter(options: OutputWriterOptions): OutputWriter {
  const { store, clock, log, id, keeper } = options;
  const { before = { total: 0, shown: 0, line: "" }, getPosition, release } = options;
  const output = createOutputBuffer(KEPT_OUTPUT, before.total);
  const mask = createStreamMask(options.secrets ?? [], before.shown);
  const lines = createLineWatch(options.patterns);
  lines.take(before.line, clock.now());
  /** Bytes of the output that were given here. */
  let read = 0;
  let matched: string[] = [];
  let [hasBegun, isOver, isFresh] = [false, false, false];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function add(text: string): void {
    output.add(text);
    note(lines.take(text, clock.monotonic()));
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
      note(lines.idle(clock.monotonic()));
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
    const bookmark = bookmarkNow();
    try {
      const kept = await store.processes.appendProcessOutput({
        id,
        keeper,
        from,
        text,
        readTo: formatBookmark(bookmark),
        ...(found.length > 0 && { matched: found }),
      });
      if (isRefused(kept)) {
        isOver = true;
        options.onRefused(kept);
      }
    } catch (error) {
      log.warn({ process: id, error }, "what a process prints cannot be stored now");
      return false;
    }
    output.drop(from + text.length);
    release(bookmark.position);
    matched = matched.filter((line) => !found.includes(line));
    return true;
  }

  /** All before this is in the text that is stored now; what the mask holds back is read again. */
  function bookmarkNow(): Bookmark {
    const { text, shown } = mask.held();
    return { position: getPosition(read - Buffer.byteLength(text)), shown };
  }

  let isSaid = false;
  return {
    write(given, upTo) {
      if (isOver) return;
      const text = options.secrets !== undefined ? given : isSaid ? "" : OUTPUT_LOST_NOTE;
      isSaid = true;
      add(mask.take(text));
      read = upTo;
      isFresh = true;
      schedule(FLUSH_MS);
    },
    begin() {
      hasBegun = true;
      schedule(FLUSH_MS);
    },
    async end(exit, at) {
      isOver = true;
      clearTimeout(timer);
      await writing;
      add(mask.end());
      note(lines.idle(clock.monotonic()));
      for (;;) {
        const { from, text } = output.peek();
        try {
          const ended = await store.processes.endProcess({
            id,
            exit,
            output: { from, text, ...(matched.length > 0 && { matched }) },
            now: at ?? clock.now(),
          });
          return isRefused(ended) ? undefined : ended;
        } catch (error) {
          log.warn({ process: id, error }, "the end of a process cannot be stored now");
          await pause(RETRY_MS);
        }
      }
    },
  };
}
