import type { NewProcess, Process } from "../core/process.ts";
import type { Source } from "../core/source.ts";

/**
 * Processes that outlive the process that starts them. Here they are started, receive input and are ended; their output
 * and their exit are read from the store.
 */
export interface Processes {
  /**
   * Resolves when the process runs. Throws with `too_many` at the limit, and with `not_found` if the folder does not
   * exist.
   */
  start(input: StartProcessInput): Promise<Process>;
  /** Writes to its input, unchanged. Throws with `not_found`, or with `closed` if it has ended or is detached. */
  write(id: string, text: string): Promise<void>;
  /** Closes its input. */
  endInput(id: string): Promise<void>;
  resize(id: string, size: TerminalSize): Promise<void>;
  /**
   * Resolves when its row contains the exit, earlier than polling would show it; also when the signal aborts, and if no
   * keeper can report the exit. So the caller reads the row afterwards.
   */
  waitForEnd(id: string, signal: AbortSignal): Promise<void>;
  /** Ends the process and all its descendants. Resolves with its row when the kernel lists none of them. */
  kill(id: string): Promise<Process>;
  /** Closes the connection. Processes continue to run. */
  close(): Promise<void>;
}

export interface StartProcessInput extends NewProcess {
  readonly session: string;
  readonly conversation: number;
  readonly target: Source;
  /** The whole environment of the process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Masked in the output before it is stored. */
  readonly secrets: readonly string[];
}

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

export const TERMINAL_SIZE: TerminalSize = { rows: 30, columns: 120 };
