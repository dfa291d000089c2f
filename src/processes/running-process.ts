import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { PostriderError } from "../core/errors.ts";
import type { Exit } from "../core/process.ts";
import { isAlive } from "../system/process-identity.ts";
import type { ManagedProcess, ProcessEvents, RunningProcess } from "./backend.ts";
import { createEndMarkFilter } from "./end-mark.ts";
import { createOutputReader, type OutputPosition } from "./output-reader.ts";
import type { ProcessFolder } from "./process-folder.ts";
import { openProcessInput } from "./process-input.ts";
import type { TerminalSize } from "./processes.ts";
import { terminateProcess } from "./terminate-process.ts";

const run = promisify(execFile);

/** How often the output is polled: soon after new output, and less often while there is none. */
const MIN_POLL_MS = 20;
const MAX_POLL_MS = 250;
/** The poll interval after the exit, until the end mark is read. */
const AFTER_END_MS = 3;
/** Without an end mark (the terminal hung up, or the wrapper was killed), silence of this length is the end. */
const QUIET_MS = 5000;
const QUIET_AFTER_KILL_MS = 300;
const GRACE_MS = 5000;
/** Ctrl-D, which a person types at the end of the input. */
const END_OF_INPUT = "\x04";

export interface RunningProcessOptions {
  readonly process: ManagedProcess;
  readonly folder: ProcessFolder;
  readonly pty: boolean;
  readonly from: OutputPosition;
  readonly secrets: readonly string[] | undefined;
  readonly events: ProcessEvents;
  /**
   * The exit of the wrapper shell itself, for its parent; it means nothing after the wrapper has written the exit file.
   */
  readonly wrapperExit?: Promise<Exit>;
  /** No process can print any more; the file `drained` says the same. */
  readonly drained?: Promise<void>;
  begin?(): void;
  disconnectRecorder?(): void;
}

interface ProcessEnd {
  readonly exit: Exit;
  readonly at?: number;
  readonly foundAt: number;
  /** The wrapper was killed before it wrote the exit. */
  readonly isKilled?: boolean;
}

/** Communicates with a process through its folder: the same for the keeper that started it and for the next one. */
export function openRunningProcess(options: RunningProcessOptions): RunningProcess {
  const { process, folder, pty, events } = options;
  const parts = createOutputReader(folder, options.from);
  const input = openProcessInput(folder, pty);
  const filter = createEndMarkFilter(process.id);
  let waitMs = MIN_POLL_MS;
  let [isDrained, isOver, isClosed, isBusy, isPollRequested] = [false, false, false, false, false];
  let wrapperExit: Exit | undefined;
  let end: ProcessEnd | undefined;
  let isMarked = false;
  let printedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;

  /** Polls now; if a poll is in progress, once more after it. */
  function pollNow(): void {
    isPollRequested = true;
    clearTimeout(timer);
    if (!isBusy) void poll();
  }

  async function poll(): Promise<void> {
    if (isOver || isClosed) return;
    isBusy = true;
    isPollRequested = false;
    try {
      // In this order: output from before the exit is read after the exit is seen.
      isDrained ||= folder.hasFile("drained");
      end ??= findEnd();
      const wasDrained = isDrained;
      await readAll();
      if (end !== undefined && (isMarked || wasDrained || isQuiet(end))) return finish(end);
    } catch {
      // The disk fails, or the home is gone: the next poll retries.
    } finally {
      isBusy = false;
    }
    if (isPollRequested) pollNow();
    else schedule();
  }

  function schedule(): void {
    if (isOver || isClosed) return;
    timer = setTimeout(() => void poll(), end === undefined ? waitMs : AFTER_END_MS);
    timer.unref();
    waitMs = Math.min(waitMs * 1.5, MAX_POLL_MS);
  }

  async function readAll(): Promise<void> {
    for (let more = await parts.read(); more !== undefined && !isClosed; more = await parts.read()) {
      waitMs = MIN_POLL_MS;
      printedAt = performance.now();
      if (isMarked) continue; // output of a child that outlives the command
      const { text, held, isEnd } = filter(more.text);
      isMarked = isEnd;
      if (text !== "") events.onOutput(text, more.upTo - held);
    }
  }

  function findEnd(): ProcessEnd | undefined {
    const foundAt = performance.now();
    const written = folder.readExit();
    if (written !== undefined) return { ...written, foundAt };
    if (wrapperExit === undefined && (options.wrapperExit !== undefined || isAlive(process)))
      return undefined;
    // The wrapper may have written the exit between the two checks.
    const late = folder.readExit();
    if (late !== undefined) return { ...late, foundAt };
    // The wrapper was killed: nothing would see the exit of its command.
    void terminateProcess(process, GRACE_MS).catch(() => {});
    return { exit: wrapperExit ?? { unknown: true }, foundAt, isKilled: true };
  }

  function isQuiet({ foundAt, isKilled = false }: ProcessEnd): boolean {
    const ms = performance.now() - Math.max(foundAt, isKilled ? 0 : printedAt);
    return ms >= (isKilled ? QUIET_AFTER_KILL_MS : QUIET_MS);
  }

  function finish({ exit, at }: ProcessEnd): void {
    isOver = true;
    const rest = parts.readRest();
    if (rest.text !== "" && !isMarked) events.onOutput(rest.text, rest.upTo);
    // After a crash of the keeper, the time of the exit comes from the file.
    events.onEnd(exit, options.wrapperExit === undefined ? at : undefined);
  }

  void options.wrapperExit?.then((exit) => {
    wrapperExit = exit;
    pollNow();
  });
  void options.drained?.then(() => {
    isDrained = true;
    pollNow();
  });
  schedule();

  return {
    ...process,
    pty,
    secrets: options.secrets,
    begin: () => options.begin?.(),
    write: (text) => input.write(text),
    endInput: () => (pty ? input.write(END_OF_INPUT) : input.end()),
    async resize(size) {
      if (!pty) throw new PostriderError("invalid_input", "The process has no terminal, so it has no size.");
      await resizeTerminal(process.pid, size);
    },
    getPosition: parts.getPosition,
    release: parts.release,
    close() {
      isClosed = true;
      clearTimeout(timer);
      input.close();
      void parts.close().catch(() => {});
      folder.remove();
      options.disconnectRecorder?.();
    },
  };
}

/** Any process that opens a terminal can set its size; the keeper need not hold the other end. */
async function resizeTerminal(pid: number, { rows, columns }: TerminalSize): Promise<void> {
  const { stdout } = await run("ps", ["-o", "tty=", "-p", String(pid)]);
  const script = 'stty rows "$0" cols "$1" <"/dev/$2"';
  await run("/bin/sh", ["-c", script, String(rows), String(columns), stdout.trim()]);
}
