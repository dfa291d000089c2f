/** A word after expansion, and the scripts of its substitutions. */
export interface ShellWord {
  readonly text: string;
  readonly substitutions: readonly ShellScript[];
  /** Scripts of `>(…)`, which read the output of the program. */
  readonly sinks?: readonly ShellScript[];
  /** A part is unknown: it comes from the environment, or the command computes it. */
  readonly unknown?: "inherited" | "made";
  /** The unknown part is unquoted, so it may be several words. */
  readonly isSplit?: true;
  /** The unknown part belongs to the name after the last slash. */
  readonly hasUnknownName?: true;
  /** The text with marks for unknown parts, for readers that parse it as a script. */
  readonly markedText?: string;
}

export interface Assignment extends ShellWord {
  readonly name: string;
}

export interface Redirect {
  readonly mode: "write" | "append" | "read" | "text";
  /** The file; with `text`, the input itself. */
  word: ShellWord;
}

/** One command with its arguments, or only assignments. */
export interface SimpleCommand {
  readonly assignments: readonly Assignment[];
  readonly words: readonly ShellWord[];
  readonly redirects: readonly Redirect[];
}

/** The content of parentheses, braces or a loop, or the body of a function. */
export interface CompoundCommand {
  readonly body: ShellScript;
  readonly functionName?: string;
  /** The words of a loop or a case. */
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

/** A `cd` in a pipeline or in the background does not change the folder of the commands beside and after it. */
export function isInSubshell({ members, isInBackground }: Pipeline): boolean {
  return members.length > 1 || isInBackground;
}
