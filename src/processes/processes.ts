import type { NewProcess, Process } from "../core/process.ts";
import type { Source } from "../core/source.ts";

/**
 * Programs that outlive whoever started them. What they print and how they end is read from the store; here they are
 * started, spoken to and ended.
 */
export interface Processes {
  /** Runs when it resolves. Throws with `too_many` when so many run already, `not_found` when the folder is not there. */
  start(input: StartProcessInput): Promise<Process>;
  /** Into its input, as it is. Throws with `not_found`, or `closed` when it has ended or is detached. */
  write(id: string, text: string): Promise<void>;
  /** Its input has come to an end. */
  endInput(id: string): Promise<void>;
  resize(id: string, size: TerminalSize): Promise<void>;
  /**
   * Resolves when its row says how it ended, sooner than who looks at the rows would see it; also when the signal aborts,
   * and when nobody is there who could tell. So whoever waits looks at the row.
   */
  waitForEnd(id: string, signal: AbortSignal): Promise<void>;
  /** Everything that it has started ends with it. Resolves when the kernel says so, with how it is. */
  kill(id: string): Promise<Process>;
  /** Lets go of the connection. What runs goes on. */
  close(): Promise<void>;
}

export interface StartProcessInput extends NewProcess {
  readonly session: string;
  readonly conversation: number;
  readonly target: Source;
  /** All that it sees of the environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Taken out of what it prints before that is stored. */
  readonly secrets: readonly string[];
}

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

export const TERMINAL_SIZE: TerminalSize = { rows: 30, columns: 120 };
