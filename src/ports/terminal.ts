/** Runs the commands of an agent, for example in a terminal that an editor shows. */
export interface Terminal {
  /** Resolves when the command exits. Kills it when the signal aborts or after `timeoutMs`. */
  run(command: TerminalCommand, signal: AbortSignal): Promise<TerminalResult>;
}

export interface TerminalCommand {
  /** The id of the tool call. */
  readonly call: string;
  readonly executable: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly timeoutMs: number;
}

export interface TerminalResult {
  /** The output, truncated if it is too long. */
  readonly text: string;
  readonly failed: boolean;
}
