import type { Call } from "./call.ts";

/** Where what a program reads comes from. */
export interface Feed {
  /** Something is piped into it. */
  readonly isPiped: boolean;
  /** Part of it comes from the network. */
  readonly isFetched: boolean;
  /** Part of it was encoded, or is made up on the way: what arrives cannot be read here. */
  readonly isChanged: boolean;
  /** All of it, where that can be told. */
  readonly text?: string;
  /** Files that it is given by `<`. */
  readonly files: readonly string[];
}

/** One entry of the list: how it is recognised, and what a person is told. */
export interface Rule {
  /** Short and stable: what a person allows for good is kept under it. */
  readonly kind: string;
  /** Goes on after "it". */
  readonly why: string;
  is(call: Call, feed: Feed): boolean;
}

export function named(...names: readonly string[]): (call: Call) => boolean {
  const all = new Set(names);
  return ({ program }) => all.has(program);
}

export function has({ flags }: Call, ...wanted: readonly string[]): boolean {
  return wanted.some((flag) => flags.has(flag));
}
