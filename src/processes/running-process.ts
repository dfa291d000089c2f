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

/** How often its output is looked at: soon after there was some, and ever less often while it is silent. */
const SOONEST_MS = 20;
const LATEST_MS = 250;
/** After its end, until the mark of the end has come through. */
const AFTER_END_MS = 3;
/** Without a mark, because its terminal hung up or somebody killed the wrapper: silent for so long, it is the end. */
const QUIET_MS = 5000;
const QUIET_AFTER_KILL_MS = 300;
const GRACE_MS = 5000;
/** Control and D: what a person types where input ends. */
const END_OF_INPUT = "\x04";

export interface RunningProcessOptions {
  readonly process: ManagedProcess;
  readonly folder: ProcessFolder;
  readonly pty: boolean;
  readonly from: OutputPosition;
  readonly secrets: readonly string[] | undefined;
  readonly events: ProcessEvents;
  /** How the wrapper shell itself has ended, for whoever is its parent; it says nothing after having written the exit. */
  readonly wrapperExit?: Promise<Exit>;
  /** Nobody can print any more; a file says so, too. */
  readonly drained?: Promise<void>;
  begin?(): void;
  disconnectRecorder?(): void;
}

interface ProcessEnd {
  readonly exit: Exit;
  readonly at?: number;
  readonly seenAt: number;
  /** The wrapper was killed before it could write the exit. */
  readonly isKilled?: boolean;
}

/** Speaks to a program through its folder and reads from there: the same for whoever started it and for the next keeper. */
export function openRunningProcess(held: RunningProcessOptions): RunningProcess {
  const { process: program, folder, pty, events } = held;
  const parts = createOutputReader(folder, held.from);
  const input = openProcessInput(folder, pty);
  const filter = createEndMarkFilter(program.id);
  let waitMs = SOONEST_MS;
  let [isDrained, isOver, isClosed, isBusy, isPoked] = [false, false, false, false, false];
  let wrapperExit: Exit | undefined;
  let end: ProcessEnd | undefined;
  let isMarked = false;
  let printedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;

  /** Looks now; while it does, once more afterwards. */
  function poke(): void {
    isPoked = true;
    clearTimeout(timer);
    if (!isBusy) void look();
  }

  async function look(): Promise<void> {
    if (isOver || isClosed) return;
    isBusy = true;
    isPoked = false;
    try {
      // In this order: what was printed before the end is read after the end was seen.
      isDrained ||= folder.hasFile("drained");
      end ??= findEnd();
      const wasDrained = isDrained;
      await readAll();
      if (end !== undefined && (isMarked || wasDrained || isQuiet(end))) return finish(end);
    } catch {
      // The disk does not answer, or the home is gone: looked at again.
    } finally {
      isBusy = false;
    }
    if (isPoked) poke();
    else schedule();
  }

  function schedule(): void {
    if (isOver || isClosed) return;
    timer = setTimeout(() => void look(), end === undefined ? waitMs : AFTER_END_MS);
    timer.unref();
    waitMs = Math.min(waitMs * 1.5, LATEST_MS);
  }

  async function readAll(): Promise<void> {
    for (let more = await parts.read(); more !== undefined && !isClosed; more = await parts.read()) {
      waitMs = SOONEST_MS;
      printedAt = performance.now();
      if (isMarked) continue; // of a child that was left behind
      const { text, held, isEnd } = filter(more.text);
      isMarked = isEnd;
      if (text !== "") events.onOutput(text, more.upTo - held);
    }
  }

  function findEnd(): ProcessEnd | undefined {
    const seenAt = performance.now();
    const written = folder.readExit();
    if (written !== undefined) return { ...written, seenAt };
    if (wrapperExit === undefined && (held.wrapperExit !== undefined || isAlive(program))) return undefined;
    // It may have written its exit between the two looks.
    const late = folder.readExit();
    if (late !== undefined) return { ...late, seenAt };
    // Somebody has killed the wrapper: nobody would see how its command ends.
    void terminateProcess(program, GRACE_MS).catch(() => {});
    return { exit: wrapperExit ?? { unknown: true }, seenAt, isKilled: true };
  }

  function isQuiet({ seenAt, isKilled = false }: ProcessEnd): boolean {
    const ms = performance.now() - Math.max(seenAt, isKilled ? 0 : printedAt);
    return ms >= (isKilled ? QUIET_AFTER_KILL_MS : QUIET_MS);
  }

  function finish({ exit, at }: ProcessEnd): void {
    isOver = true;
    const rest = parts.readRest();
    if (rest.text !== "" && !isMarked) events.onOutput(rest.text, rest.upTo);
    // Whoever was not there when it ended knows when from the file.
    events.onEnd(exit, held.wrapperExit === undefined ? at : undefined);
  }

  void held.wrapperExit?.then((exit) => {
    wrapperExit = exit;
    poke();
  });
  void held.drained?.then(() => {
    isDrained = true;
    poke();
  });
  schedule();

  return {
    ...program,
    pty,
    secrets: held.secrets,
    begin: () => held.begin?.(),
    write: (text) => input.write(text),
    endInput: () => (pty ? input.write(END_OF_INPUT) : input.end()),
    async resize(size) {
      if (!pty) throw new PostriderError("invalid_input", "The process has no terminal, so it has no size.");
      await resizeTerminal(program.pid, size);
    },
    getPosition: parts.getPosition,
    release: parts.release,
    close() {
      isClosed = true;
      clearTimeout(timer);
      input.close();
      void parts.close().catch(() => {});
      folder.remove();
      held.disconnectRecorder?.();
    },
  };
}

/** Whoever has a terminal open may set its size; no keeper needs to hold its other end for that. */
async function resizeTerminal(pid: number, { rows, columns }: TerminalSize): Promise<void> {
  const { stdout } = await run("ps", ["-o", "tty=", "-p", String(pid)]);
  const script = 'stty rows "$0" cols "$1" <"/dev/$2"';
  await run("/bin/sh", ["-c", script, String(rows), String(columns), stdout.trim()]);
}
