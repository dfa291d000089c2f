import type { Process } from "../core/process.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import type { ProcessEvents, RunningProcess } from "./backend.ts";
import { createOutputWriter, type OutputWriter, type StoredOutput } from "./output-writer.ts";

/** The maximum delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface SuperviseOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly keeper: string;
  readonly row: Process;
  endInBackground(id: string): void;
}

/** A process whose output and exit this keeper writes into its row. */
export interface SupervisedProcess {
  readonly events: ProcessEvents;
  /** Must be called at once with the process that receives `events`. */
  attach(running: RunningProcess, before?: StoredOutput): OutputWriter;
  getRunning(): RunningProcess;
  /** Ends the process after this time. */
  setTimeLimit(ms: number | undefined): void;
  /** Its row contains the exit. */
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

  function requireAttached(): NonNullable<typeof attached> {
    if (attached === undefined) throw new Error(`process ${id} is not attached yet`);
    return attached;
  }

  /** If removing the files fails, the next keeper removes them. */
  function close(running: RunningProcess): void {
    try {
      running.close();
    } catch (error) {
      log.warn({ process: id, error }, `removing the files of process ${id} failed; the next keeper retries`);
    }
  }

  return {
    events: {
      onOutput: (text, upTo) => requireAttached().writer.write(text, upTo),
      onEnd(exit, at) {
        clearTimeout(timeout);
        isOver = true;
        const { running, writer } = requireAttached();
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
          log.warn({ process: id, why: why.reason }, `process ${id} has no row any more; ending it`);
          endInBackground(id);
        },
      });
      attached = { running, writer };
      return writer;
    },
    getRunning: () => requireAttached().running,
    setTimeLimit(ms) {
      if (ms === undefined || isOver) return;
      const end = (): void => {
        log.info({ process: id, timeoutMs: row.timeoutMs }, `process ${id} reached its time-out; ending it`);
        endInBackground(id);
      };
      timeout = setTimeout(end, Math.min(ms, MAX_TIMER_MS));
    },
    ended: ended.promise,
    hasEnded: () => isOver,
  };
}
