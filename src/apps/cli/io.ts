import type { Readable, Writable } from "node:stream";

/** The streams, environment and clock of a command, so that tests can replace them. */
export interface Io {
  readonly input: Readable & { readonly isTTY?: boolean };
  /** For results only. */
  readonly output: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  /** For progress, warnings and errors. */
  readonly notices: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly environment: NodeJS.ProcessEnv;
  now(): number;
}

/** The streams of this process. */
export const PROCESS_IO: Io = {
  // Node creates each stream on first access, and few commands need all three.
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

/** Prints one JSON value on one line, so that scripts can read line by line. */
export function printJson(io: Io, value: unknown): void {
  io.output.write(`${JSON.stringify(value)}\n`);
}

export function printNotice(io: Io, text: string): void {
  io.notices.write(`${text}\n`);
}

/** The width of the terminal; unlimited in a pipe. */
export function getOutputWidth(io: Io): number {
  return io.output.isTTY ? Math.max(20, io.output.columns ?? 80) : Number.POSITIVE_INFINITY;
}

/** NO_COLOR and FORCE_COLOR decide; otherwise terminals that support colours get them. */
export function hasColor(io: Io, stream: { readonly isTTY?: boolean } = io.output): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.environment;
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== "") return FORCE_COLOR !== "0";
  return stream.isTTY === true && TERM !== "dumb";
}
