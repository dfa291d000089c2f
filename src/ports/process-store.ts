import type { NewMessage } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { Exit, NewProcess, Process, ProcessOutput, ProcessReport } from "../core/process.ts";
import type { Source } from "../core/source.ts";
import type { ClaimBy, Turn } from "../core/turn.ts";
import type { Maybe, Now } from "./store-request.ts";

/** Processes that tools start, and their output. The keeper of a process is the runner that supervises it. */
export interface ProcessStore {
  /**
   * Stores the process in state `starting`, before the command runs. Refused with `too_many` if `maxRunning` processes run in
   * this home, and if the session was removed.
   */
  beginProcess(input: BeginProcess): Maybe<Process>;
  /** Records the pid and the keeper. Refused unless the state is `starting`. */
  markProcessRunning(
    input: {
      readonly id: string;
      readonly keeper: string;
      readonly pid: number;
      readonly startTime: string;
      readonly pty: boolean;
    } & Now,
  ): Maybe<Process>;
  /** Appends output; only the last `KEPT_OUTPUT` characters are kept. Refused unless this keeper supervises the process. */
  appendProcessOutput(input: ProcessOutputChunk): Maybe<{ readonly kept: true }>;
  /**
   * Stores the last output and the exit in one commit. Refused if the process has ended. With `onlyIfStarting`, refused once
   * it runs; a process that ends this way never runs, and counts as reported: the caller reports it.
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
   * Takes over the starting and running processes of keepers that ended. Those not in `attachable` become `detached`. Returns
   * all processes of this keeper.
   */
  adoptProcesses(
    input: {
      readonly keeper: string;
      /** Ids of processes whose output and exit this keeper can continue to read. */
      readonly attachable?: readonly string[];
    } & Now,
  ): Promise<readonly Process[]>;
  /**
   * Stores the unfinished input line of a process. Without `unfinished` the line is unknown, as during a write: after a crash
   * nobody can tell whether the write arrived.
   */
  recordProcessInput(input: { readonly id: string; readonly unfinished?: string }): Promise<void>;
  /** Records a report that was not a delivery. False, and nothing changes, if the same was reported before. */
  markProcessReported(input: ProcessReport & Now): Promise<boolean>;
  /**
   * Reports the end of a process to its agent: stores an inbox message in the conversation that started it and marks the end
   * as reported, in one commit. The message causes no reset, and neither it nor its turn changes `active_at`. `elsewhere`, and
   * nothing changes, if another session is now current there; `told` if the end was reported before.
   */
  wakeAgent(input: WakeRequest): Promise<WakeResult>;
  getProcess(input: { readonly asker: Asker; readonly id: string }): Promise<Process | undefined>;
  /** Newest first. Includes processes that ended at or after `endedSince`. */
  listProcesses(input: ProcessQuery): Promise<readonly Process[]>;
  /** At most `limit` characters of the kept output, starting at character `from`; without `from`, the last ones. */
  readProcessOutput(input: {
    readonly asker: Asker;
    readonly id: string;
    readonly from?: number;
    readonly limit?: number;
  }): Promise<ProcessOutput | undefined>;
  /** Background processes that may need a report: running with a watch, or ended and not reported. */
  listWatchedProcesses(): Promise<readonly Process[]>;
}

export interface WakeRequest {
  readonly process: string;
  readonly message: NewMessage;
  /** Starts the turn at once if the session is free. Otherwise this runner starts it later, while it lives. */
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
  /** The offset of the first character in the whole output. A gap before it was never stored. */
  readonly from: number;
  readonly text: string;
  /** The position up to which output is stored now, in a format that only the keeper reads. */
  readonly readTo?: string;
  /** Lines that match a pattern of the watch. */
  readonly matched?: readonly string[];
}

export interface ProcessQuery {
  readonly asker: Asker;
  readonly session?: string;
  readonly conversation?: number;
  readonly endedSince?: number;
  /** Also includes processes that a tool waits for. */
  readonly foreground?: boolean;
  readonly limit?: number;
}
