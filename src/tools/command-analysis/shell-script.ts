/** A word as the shell gives it to a program, and the scripts that were run to make it. */
export interface ShellWord {
  readonly text: string;
  readonly substitutions: readonly ShellScript[];
  /** Scripts of `>(…)`: they read what the program writes. */
  readonly sinks?: readonly ShellScript[];
  /** Part of it cannot be known: it comes from the environment, or the command itself makes it while it runs. */
  readonly unknown?: "inherited" | "made";
  /** The unknown part stands without quotes, so that it may be several words. */
  readonly isSplit?: true;
  /** The unknown part belongs to the name after the last slash. */
  readonly hasUnknownName?: true;
  /** The text with marks for its unknown parts, for a reader that takes it as a script. */
  readonly markedText?: string;
}

export interface Assignment extends ShellWord {
  readonly name: string;
}

export interface Redirect {
  readonly mode: "write" | "append" | "read" | "text";
  /** The file; with `text`, what the program reads. */
  word: ShellWord;
}

/** One program with what it is given, or nothing but assignments. */
export interface SimpleCommand {
  readonly assignments: readonly Assignment[];
  readonly words: readonly ShellWord[];
  readonly redirects: readonly Redirect[];
}

/** What stands in parentheses, braces or a loop, or is the body of a function. */
export interface CompoundCommand {
  readonly body: ShellScript;
  readonly functionName?: string;
  /** What a loop goes through, or a case looks at. */
  readonly words?: readonly ShellWord[];
}

export interface Pipeline {
  readonly members: readonly (SimpleCommand | CompoundCommand)[];
  readonly isInBackground: boolean;
}

export type ShellScript = readonly Pipeline[];

export function isCompoundCommand(member: SimpleCommand | CompoundCommand): member is CompoundCommand {
  return "body" in member;
}
