import type { NewMessage } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { Exit, NewProcess, Process, ProcessOutput, ProcessReport } from "../core/process.ts";
import type { Source } from "../core/source.ts";
import type { ClaimBy, Turn } from "../core/turn.ts";
import type { Maybe, Now } from "./store-request.ts";

/** Background processes and their output. */
export interface ProcessStore {
  /**
   * The row is there before the program runs, in state `starting`. Refused with `too_many` when so many run already in this
   * home, and when the session is gone.
   */
  beginProcess(input: BeginProcess): Maybe<Process>;
  /** It runs, and this keeper looks after it. Refused unless it was starting. */
  markProcessRunning(
    input: {
      readonly id: string;
      readonly keeper: string;
      readonly pid: number;
      readonly startTime: string;
      readonly pty: boolean;
    } & Now,
  ): Maybe<Process>;
  /** More of what it printed; only the last `KEPT_OUTPUT` characters stay. Refused unless this keeper looks after it. */
  appendProcessOutput(input: ProcessOutputChunk): Maybe<{ readonly kept: true }>;
  /**
   * Its last output and its exit, in one commit. Only the first end counts: any other is refused. So is one that is meant
   * only for what has not begun to run, when it has; what is ended so never will, and whoever ends it tells of it.
   */
  endProcess(
    input: {
      readonly id: string;
      readonly exit: Exit;
      readonly onlyIfStarting?: boolean;
      readonly output?: Pick<ProcessOutputChunk, "from" | "text" | "matched">;
    } & Now,
  ): Maybe<Process>;
  /**
   * What keepers that are gone have left, running or starting, is this keeper's from now on, and detached unless the keeper
   * can go on with its output. Returns all that is this keeper's then.
   */
  adoptProcesses(
    input: {
      readonly keeper: string;
      /** The ids of those whose output and exit this keeper can go on to read. */
      readonly attachable?: readonly string[];
    } & Now,
  ): Promise<readonly Process[]>;
  /**
   * The line that was written to a process and is not finished. Without `unfinished` it is not known, as while a write is
   * on its way: after a crash nobody can tell whether it arrived.
   */
  recordProcessInput(input: { readonly id: string; readonly unfinished?: string }): Promise<void>;
  /** The person was told so much of a process, elsewhere than by a delivery. False, and nothing, if that has been told. */
  markProcessReported(input: ProcessReport & Now): Promise<boolean>;
  /**
   * The end of a process is told to its agent: an inbox row of the conversation that started it, in one commit with the mark
   * that it was told. Nobody has said it: it resets nothing, and neither it nor the end of its turn moves `active_at`.
   * `elsewhere`, and nothing, when the conversation points to another session than the process's by now; `told`, and nothing,
   * when its end has been told.
   */
  wakeAgent(input: WakeRequest): Promise<WakeResult>;
  getProcess(input: { readonly asker: Asker; readonly id: string }): Promise<Process | undefined>;
  /** Newest first. Those that have ended are there if they did since `endedSince`. */
  listProcesses(input: ProcessQuery): Promise<readonly Process[]>;
  /** From this character on, at most so many; without `from`, the last ones. Only what is still kept. */
  readProcessOutput(input: {
    readonly asker: Asker;
    readonly id: string;
    readonly from?: number;
    readonly limit?: number;
  }): Promise<ProcessOutput | undefined>;
  /** Those of whom the chat may have to be told something: running with a watch, or ended and not told of. Background only. */
  listWatchedProcesses(): Promise<readonly Process[]>;
}

export interface WakeRequest {
  readonly process: string;
  readonly message: NewMessage;
  /** Start the turn at once if the session is free; else this runner sees to it, for as long as it lives. */
  readonly claim: ClaimBy;
  readonly now: number;
}

export type WakeResult =
  | { readonly state: "woken"; readonly session: string; readonly turn?: Turn }
  | { readonly state: "elsewhere" }
  | { readonly state: "told" };

export interface BeginProcess {
  readonly process: NewProcess;
  readonly session: string;
  readonly conversation: number;
  readonly target: Source;
  readonly maxRunning: number;
  readonly now: number;
}

export interface ProcessOutputChunk {
  readonly id: string;
  readonly keeper: string;
  /** The place of the first character in all that was printed; what is missing before it was never stored. */
  readonly from: number;
  readonly text: string;
  /** How far what was printed is stored with this, in the keeper's own words. */
  readonly readTo?: string;
  /** Lines that a pattern was found in. */
  readonly matched?: readonly string[];
}

export interface ProcessQuery {
  readonly asker: Asker;
  readonly session?: string;
  readonly conversation?: number;
  readonly endedSince?: number;
  /** Also those that a tool waits for. */
  readonly foreground?: boolean;
  readonly limit?: number;
}
