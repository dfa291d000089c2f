import type { ProgramCall } from "./program-call.ts";

/** Where what a program reads comes from. */
export interface ProgramInput {
  /** Something is piped into it. */
  readonly isPiped: boolean;
  /** Part of it comes from the network. */
  readonly isFetched: boolean;
  /** Part of it is made by a program on the way: what arrives cannot be read here. */
  readonly isMade: boolean;
  /** All of it, where that can be told. */
  readonly text?: string;
  /** Files that it is given by `<`. */
  readonly files: readonly string[];
}

/** One entry of the list: how it is recognised, and what a person is told. */
export interface DangerRule {
  /** Short and stable: a person's answer is kept under it. */
  readonly kind: string;
  /** Goes on after "it". */
  readonly why: string;
  /** `cwds` are the folders in which it may run. */
  matches(call: ProgramCall, feed: ProgramInput, cwds: readonly string[]): boolean;
}

export function matchPrograms(...names: readonly string[]): (call: ProgramCall) => boolean {
  const all = new Set(names);
  return ({ program }) => all.has(program);
}

/** Long options may be shortened, as GNU programs and git allow it: `--rec` is `--recursive`. */
export function hasFlag({ flags }: ProgramCall, ...wanted: readonly string[]): boolean {
  return wanted.some(
    (flag) =>
      flags.has(flag) || (flag.startsWith("--") && [...flags].some((one) => isAbbreviation(one, flag))),
  );
}

/** Whether an argument is this long option, in full or shortened, with a value or without. */
export function isLongOption(arg: string, ...wanted: readonly string[]): boolean {
  const [name = ""] = arg.split("=", 1);
  return wanted.some((flag) => name === flag || isAbbreviation(name, flag));
}

function isAbbreviation(name: string, flag: string): boolean {
  return name.length > 2 && name.startsWith("--") && flag.startsWith(name);
}
