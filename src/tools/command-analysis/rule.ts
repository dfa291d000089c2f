import type { Call } from "./call.ts";

/** Where what a program reads comes from. */
export interface Feed {
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
export interface Rule {
  /** Short and stable: a person's answer is kept under it. */
  readonly kind: string;
  /** Goes on after "it". */
  readonly why: string;
  /** `cwds` are the folders in which it may run. */
  is(call: Call, feed: Feed, cwds: readonly string[]): boolean;
}

export function named(...names: readonly string[]): (call: Call) => boolean {
  const all = new Set(names);
  return ({ program }) => all.has(program);
}

/** Long options may be shortened, as GNU programs and git allow it: `--rec` is `--recursive`. */
export function has({ flags }: Call, ...wanted: readonly string[]): boolean {
  return wanted.some(
    (flag) => flags.has(flag) || (flag.startsWith("--") && [...flags].some((one) => isShortFor(one, flag))),
  );
}

/** Whether an argument is this long option, in full or shortened, with a value or without. */
export function isLong(arg: string, ...wanted: readonly string[]): boolean {
  const [name = ""] = arg.split("=", 1);
  return wanted.some((flag) => name === flag || isShortFor(name, flag));
}

function isShortFor(name: string, flag: string): boolean {
  return name.length > 2 && name.startsWith("--") && flag.startsWith(name);
}
