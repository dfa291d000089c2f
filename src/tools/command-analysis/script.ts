/** A word as the shell gives it to a program, and the scripts that were run to make it. */
export interface Word {
  readonly text: string;
  readonly inside: readonly Script[];
  /** Scripts of `>(…)`: they read what the program writes. */
  readonly sinks?: readonly Script[];
  /** Part of it cannot be known: it comes from the environment, or the command itself makes it while it runs. */
  readonly unknown?: "inherited" | "made";
  /** The unknown part stands without quotes, so that it may be several words. */
  readonly isSplit?: true;
  /** The unknown part belongs to the name after the last slash. */
  readonly hasUnknownName?: true;
  /** The text with marks for its unknown parts, for a reader that takes it as a script. */
  readonly marked?: string;
}

export interface Assignment extends Word {
  readonly name: string;
}

export interface Redirect {
  readonly way: "write" | "append" | "read" | "text";
  /** The file; with `text`, what the program reads. */
  word: Word;
}

/** One program with what it is given, or nothing but assignments. */
export interface Step {
  readonly assigned: readonly Assignment[];
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
}

/** What stands in parentheses, braces or a loop, or is the body of a function. */
export interface Group {
  readonly body: Script;
  readonly named?: string;
  /** What a loop goes through, or a case looks at. */
  readonly words?: readonly Word[];
}

export interface Pipeline {
  readonly members: readonly (Step | Group)[];
  readonly isInBackground: boolean;
}

export type Script = readonly Pipeline[];

export function isGroup(member: Step | Group): member is Group {
  return "body" in member;
}
