import type { ProgramCall } from "./program-call.ts";

/** The source of a program's input. */
export interface ProgramInput {
  /** The input comes from a pipe. */
  readonly isPiped: boolean;
  /** A part of the input comes from the network. */
  readonly isFetched: boolean;
  /** A program computes a part of the input, so that its text is unknown. */
  readonly isMade: boolean;
  /** The complete input, if it is known. */
  readonly text?: string;
  /** Files that are redirected with `<`. */
  readonly files: readonly string[];
}

/** A danger rule: its test, and its text for the approval. */
export interface DangerRule {
  /** Short and stable, because approvals are stored under it. */
  readonly kind: string;
  /** Continues a sentence that starts with "it". */
  readonly why: string;
  /** `cwds` are the possible working directories. */
  matches(call: ProgramCall, feed: ProgramInput, cwds: readonly string[]): boolean;
}

export function matchPrograms(...names: readonly string[]): (call: ProgramCall) => boolean {
  const all = new Set(names);
  return ({ program }) => all.has(program);
}

/** GNU programs and git accept abbreviated long options: `--rec` is `--recursive`. */
export function hasFlag({ flags }: ProgramCall, ...wanted: readonly string[]): boolean {
  return wanted.some(
    (flag) =>
      flags.has(flag) || (flag.startsWith("--") && [...flags].some((one) => isAbbreviation(one, flag))),
  );
}

/** Whether an argument is this long option, complete or abbreviated, with or without a value. */
export function isLongOption(arg: string, ...wanted: readonly string[]): boolean {
  const [name = ""] = arg.split("=", 1);
  return wanted.some((flag) => name === flag || isAbbreviation(name, flag));
}

function isAbbreviation(name: string, flag: string): boolean {
  return name.length > 2 && name.startsWith("--") && flag.startsWith(name);
}
