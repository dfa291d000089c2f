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

/** The minimum time between two writes to the row. */
const FLUSH_MS = 200;
/** The delay before a retry after a full disk or a busy database. */
const RETRY_MS = 1000;
/** The maximum number of matched lines that are kept while the store fails. */
const MAX_MATCHED = 100;

export interface OutputWriterOptions {
  readonly store: Pick<Store, "processes">;
  readonly clock: Clock;
  readonly log: Log;
  readonly id: string;
  readonly keeper: string;
  /** `undefined` if they are no longer known: then no output is stored, since it may contain them. */
  readonly secrets: readonly string[] | undefined;
  readonly patterns: readonly string[];
  /** The output that an earlier keeper stored. */
  readonly before?: StoredOutput;
  /** The position of a byte of the output. */
  getPosition(byte: number): OutputPosition;
  /** All output before this position is stored. */
  release(position: OutputPosition): void;
  /** The row refuses output: its owner was erased, or another keeper supervises the process. */
  onRefused(why: Refused): void;
}

export interface StoredOutput {
  readonly total: number;
  /** Characters after the bookmark that are stored already. */
  readonly shown: number;
  /** The last line, if it is incomplete. */
  readonly line: string;
}

/** Replaces output that cannot be stored. */
const OUTPUT_LOST_NOTE =
  "(The output after the process keeper was killed is not stored: the secrets to mask in it are no longer known.)\n";

/** Writes the output and the exit of one process into its row. */
export interface OutputWriter {
  write(text: string, upTo: number): void;
  /** The row is in the state `running`: from now on it accepts output. */
  begin(): void;
  /** Writes the last output and the exit in one commit. Resolves when that is done, or can never be done. */
  end(exit: Exit, at?: number): Promise<Process | undefined>;
}

export function createOutputWriter(options: OutputWriterOptions): OutputWriter {
  const { store, clock, log, id, keeper } = options;
  const { before = { total: 0, shown: 0, line: "" }, getPosition, release } = options;
  const output = createOutputBuffer(KEPT_OUTPUT, before.total);
  const mask = createStreamMask(options.secrets ?? [], before.shown);
  const lines = createLineWatch(options.patterns);
  lines.take(before.line, clock.now());
  /** Bytes of the output that were passed to `write`. */
  let read = 0;
  let matched: string[] = [];
  let [hasBegun, isOver, isFresh] = [false, false, false];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function add(text: string): void {
    output.add(text);
    addMatched(lines.take(text, clock.monotonic()));
  }

  function addMatched(found: readonly string[]): void {
    if (found.length > 0) matched = [...matched, ...found].slice(-MAX_MATCHED);
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
      addMatched(lines.idle(clock.monotonic()));
    }
    const isStored = await storeOutput();
    // Once more, even without new output: text that is held back may be shown then.
    if (!isStored) schedule(RETRY_MS);
    else if (wasFresh || isFresh) schedule(FLUSH_MS);
  }

  async function storeOutput(): Promise<boolean> {
    const { from, text } = output.peek();
    const found = matched;
    if (text === "" && found.length === 0) return true;
    const bookmark = getBookmark();
    try {
      const appended = await store.processes.appendProcessOutput({
        id,
        keeper,
        from,
        text,
        readTo: formatBookmark(bookmark),
        ...(found.length > 0 && { matched: found }),
      });
      if (isRefused(appended)) {
        isOver = true;
        options.onRefused(appended);
      }
    } catch (error) {
      log.warn({ process: id, error }, `storing output of process ${id} failed; it is retried`);
      return false;
    }
    output.drop(from + text.length);
    release(bookmark.position);
    matched = matched.filter((line) => !found.includes(line));
    return true;
  }

  /** The stored text contains all output before this bookmark; text that the mask holds back is read again. */
  function getBookmark(): Bookmark {
    const { text, shown } = mask.held();
    return { position: getPosition(read - Buffer.byteLength(text)), shown };
  }

  let isNoteWritten = false;
  return {
    write(piece, upTo) {
      if (isOver) return;
      const text = options.secrets !== undefined ? piece : isNoteWritten ? "" : OUTPUT_LOST_NOTE;
      isNoteWritten = true;
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
      addMatched(lines.idle(clock.monotonic()));
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
          log.warn({ process: id, error }, `storing the exit of process ${id} failed; it is retried`);
          await pause(RETRY_MS);
        }
      }
    },
  };
}
