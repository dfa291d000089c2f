import type { Exit } from "../core/process.ts";
import type { ProcessInstance } from "../system/process-identity.ts";
import type { OutputPosition } from "./output-reader.ts";
import type { TerminalSize } from "./processes.ts";

/** Runs processes: on this machine, or elsewhere behind this interface. */
export interface Backend {
  /** Resolves when the process exists; it waits for `begin`. */
  start(spec: ProcessSpec, events: ProcessEvents): Promise<RunningProcess>;
  /** The processes that an earlier keeper started and that `attach` may find. */
  listAttachable(): readonly string[];
  /** Continues one of them from this position in its output; `undefined` if its files are gone. */
  attach(spec: AttachSpec, events: ProcessEvents): RunningProcess | undefined;
  /** Removes the files of a process that no keeper supervises. */
  removeFiles(id: string): void;
  isAlive(instance: ProcessInstance): boolean;
  /**
   * Sends SIGTERM to the process and all its descendants, and SIGKILL after the grace period. Resolves when the kernel
   * lists none of them; throws if some remain. Another process that has the same pid by now is left alone.
   */
  terminate(process: ManagedProcess, graceMs: number): Promise<void>;
}

/** The id of a process in the store, and its pid and start time on the machine. */
export interface ManagedProcess extends ProcessInstance {
  readonly id: string;
}

export interface ProcessSpec {
  readonly id: string;
  /** A line for the shell. */
  readonly command: string;
  readonly cwd: string;
  readonly pty: boolean;
  readonly environment: Readonly<Record<string, string>>;
  /** Kept for the next keeper, in memory only. */
  readonly secrets: readonly string[];
}

export interface AttachSpec extends ManagedProcess {
  readonly pty: boolean;
  /** The output up to here is stored. */
  readonly from: OutputPosition;
}

export interface ProcessEvents {
  /** More output, and the number of bytes since the first read. */
  onOutput(text: string, upTo: number): void;
  /** Called once, after the last output. `at` is the time of the exit, if it is known to be earlier than now. */
  onEnd(exit: Exit, at?: number): void;
}

/** A process that this keeper or an earlier one started. */
export interface RunningProcess extends ManagedProcess {
  /** Whether it has a terminal; false also if one was requested and none is available. */
  readonly pty: boolean;
  /** Secrets to mask in the output; `undefined` if they are no longer known. */
  readonly secrets: readonly string[] | undefined;
  /** Lets the process run. If the keeper crashes before this call, the process exits without an effect. */
  begin(): void;
  /** Throws with `busy` if too much input is unread, and with `closed` if the input was ended. */
  write(text: string): void;
  endInput(): void;
  /** Throws with `invalid_input` if it has no terminal. */
  resize(size: TerminalSize): Promise<void>;
  /** The position of a byte of the output, for a later `attach`. */
  getPosition(byte: number): OutputPosition;
  /** All output before this position is stored. */
  release(position: OutputPosition): void;
  /** The row contains the exit: the files are no longer needed. */
  close(): void;
}
