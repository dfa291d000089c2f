import type { Process } from "../core/process.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import type { ProcessEvents, RunningProcess } from "./backend.ts";
import { createOutputWriter, type OutputWriter, type StoredOutput } from "./output-writer.ts";

/** The longest that a timer can wait. */
const LONGEST_TIMER = 2 ** 31 - 1;

export interface SuperviseOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly keeper: string;
  readonly row: Process;
  endInBackground(id: string): void;
}

/** A program whose output and end this keeper writes into its row. */
export interface SupervisedProcess {
  readonly events: ProcessEvents;
  /** To be called at once with what `events` were given for. */
  attach(running: RunningProcess, before?: StoredOutput): OutputWriter;
  getRunning(): RunningProcess;
  /** Ends it after so long. */
  setTimeLimit(ms: number | undefined): void;
  /** Its row says how it ended. */
  readonly ended: Promise<void>;
  hasEnded(): boolean;
}

export function superviseProcess({ row, endInBackground, ...options }: SuperviseOptions): SupervisedProcess {
  const { log } = options;
  const { id } = row;
  const ended = Promise.withResolvers<void>();
  let attached: { readonly running: RunningProcess; readonly writer: OutputWriter } | undefined;
  let timeout: NodeJS.Timeout | undefined;
  let isOver = false;

  function present(): NonNullable<typeof attached> {
    if (attached === undefined) throw new Error(`process ${id} is not attached yet`);
    return attached;
  }

  /** Files that cannot be removed now are removed by the next keeper. */
  function close(running: RunningProcess): void {
    try {
      running.close();
    } catch (error) {
      log.warn({ process: id, error }, "the files of a process cannot be removed now");
    }
  }

  return {
    events: {
      onOutput: (text, upTo) => present().writer.write(text, upTo),
      onEnd(exit, at) {
        clearTimeout(timeout);
        isOver = true;
        const { running, writer } = present();
        void writer.end(exit, at).then(() => {
          close(running);
          ended.resolve();
        });
      },
    },
    attach(running, before) {
      const writer = createOutputWriter({
        ...options,
        id,
        secrets: running.secrets,
        patterns: row.watch.patterns,
        ...(before !== undefined && { before }),
        getPosition: running.getPosition,
        release: running.release,
        onRefused(why) {
          log.warn({ process: id, why: why.reason }, "a process has no row any more, so it is ended");
          endInBackground(id);
        },
      });
      attached = { running, writer };
      return writer;
    },
    getRunning: () => present().running,
    setTimeLimit(ms) {
      if (ms === undefined || isOver) return;
      const end = (): void => {
        log.info({ process: id, timeoutMs: row.timeoutMs }, "a process reached its time-out and is ended");
        endInBackground(id);
      };
      timeout = setTimeout(end, Math.min(ms, LONGEST_TIMER));
    },
    ended: ended.promise,
    hasEnded: () => isOver,
  };
}
