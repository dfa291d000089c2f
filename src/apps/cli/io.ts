import type { Readable, Writable } from "node:stream";

/** Everything that a command touches of the world besides the home, so that it can be run anywhere. */
export interface Io {
  readonly input: Readable & { readonly isTTY?: boolean };
  /** Results, and nothing else. */
  readonly output: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  /** Everything that is not a result: progress, warnings, errors. */
  readonly notices: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly environment: NodeJS.ProcessEnv;
  now(): number;
}

/** The process's own. */
export const PROCESS_IO: Io = {
  // Each is made when it is first touched: few commands need all three.
  get input() {
    return process.stdin;
  },
  get output() {
    return process.stdout;
  },
  get notices() {
    return process.stderr;
  },
  environment: process.env,
  now: Date.now,
};

export function printLine(io: Io, text: string): void {
  io.output.write(`${text}\n`);
}

/** One JSON value on one line, so that a script can read line by line. */
export function printJson(io: Io, value: unknown): void {
  io.output.write(`${JSON.stringify(value)}\n`);
}

export function printNotice(io: Io, text: string): void {
  io.notices.write(`${text}\n`);
}

/** What a pipe gets is not cut to a width. */
export function getOutputWidth(io: Io): number {
  return io.output.isTTY ? Math.max(20, io.output.columns ?? 80) : Number.POSITIVE_INFINITY;
}

/** NO_COLOR and FORCE_COLOR as everywhere; else colours are for terminals that can show them. */
export function hasColor(io: Io, stream: { readonly isTTY?: boolean } = io.output): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.environment;
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== "") return FORCE_COLOR !== "0";
  return stream.isTTY === true && TERM !== "dumb";
}
