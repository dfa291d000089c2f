/** A word as the shell gives it to a program, and the scripts that were run to make it. */
export interface Word {
  readonly text: string;
  readonly inside: readonly Script[];
}

export interface Redirect {
  readonly way: "write" | "append" | "read" | "text";
  /** The file; with `text`, what the program reads. */
  word: Word;
}

/** One program with what it is given, or nothing but assignments. */
export interface Step {
  readonly assigned: readonly Word[];
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
}

/** What stands in parentheses, braces or a loop, or is the body of a function. */
export interface Group {
  readonly body: Script;
  readonly named?: string;
}

export interface Pipeline {
  readonly members: readonly (Step | Group)[];
  readonly isInBackground: boolean;
}

export type Script = readonly Pipeline[];

export function isGroup(member: Step | Group): member is Group {
  return "body" in member;
}
