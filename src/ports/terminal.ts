/** Where an agent's commands run, for instance before the eyes of whoever sits in the editor. */
export interface Terminal {
  /** Runs to the end, or until the signal aborts or the time is over; then it is killed. */
  run(command: TerminalCommand, signal: AbortSignal): Promise<TerminalResult>;
}

export interface TerminalCommand {
  /** The tool's call that it belongs to. */
  readonly call: string;
  readonly executable: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly timeoutMs: number;
}

export interface TerminalResult {
  /** What it printed, shortened if it was too long. */
  readonly text: string;
  readonly failed: boolean;
}
