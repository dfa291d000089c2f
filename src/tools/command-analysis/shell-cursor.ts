const MAX_DEPTH = 50;
const BLANK = /\s*$/y;

/** The position of the parser, its budget and its variables. */
export interface ShellCursor {
  readonly source: string;
  at: number;
  /** The current nesting depth. */
  readonly depth: number;
  /** The values of the variables so far. */
  readonly values: Map<string, string>;
  /** Sets a variable. A second value makes it unsure, because the executed branch is unknown. */
  setVariable(name: string, value: string): void;
  /** The command sets the variable to an unknown value. */
  markUnsure(name: string): void;
  isUnsure(name: string): boolean;
  /** The parser stopped before the end. */
  readonly isTooComplex: boolean;
  giveUp(): void;
  /** A construct was still open at the end. */
  readonly isUnfinished: boolean;
  markUnfinished(): void;
  /** Only white space follows. */
  isAtEnd(): boolean;
  /** Parses a nested construct, up to a depth. */
  readNested<Result>(read: () => Result, otherwise: Result): Result;
  /** Matches a sticky pattern at the position and moves behind it. */
  match(pattern: RegExp): RegExpExecArray | undefined;
  /** Skips spaces, continued lines and comments. */
  skipBlanks(): void;
  /** The next position of the mark, or the end. */
  findEnd(mark: string): number;
  /** Charges an inserted value to the budget, because nested variables could grow without limit. */
  spend(value: string): string;
}

/** The variables of a command: their last values, and the unsure ones. */
export interface ShellVariables {
  readonly values: Map<string, string>;
  readonly unsure: Set<string>;
}

export function createShellCursor(
  source: string,
  { values, unsure }: ShellVariables,
  outer: number,
): ShellCursor {
  let depth = outer;
  let isTooMuch = false;
  let isUnfinished = false;
  let allowance = 4 * source.length + 4096;
  const cursor: ShellCursor = {
    source,
    at: 0,
    values,
    get depth() {
      return depth;
    },
    get isTooComplex() {
      return isTooMuch;
    },
    setVariable(name, value) {
      const before = values.get(name);
      if ((before !== undefined && before !== value) || name === "IFS") unsure.add(name);
      values.set(name, value);
    },
    markUnsure(name) {
      unsure.add(name);
    },
    isUnsure: (name) => unsure.has(name),
    get isUnfinished() {
      return isUnfinished;
    },
    markUnfinished() {
      isUnfinished = true;
    },
    isAtEnd() {
      BLANK.lastIndex = cursor.at;
      return BLANK.test(source);
    },
    giveUp() {
      isTooMuch = true;
      cursor.at = source.length;
    },
    readNested(read, otherwise) {
      depth += 1;
      if (depth > MAX_DEPTH) cursor.giveUp();
      const result = depth > MAX_DEPTH ? otherwise : read();
      depth -= 1;
      return result;
    },
    match(pattern) {
      pattern.lastIndex = cursor.at;
      const found = pattern.exec(source) ?? undefined;
      if (found !== undefined) cursor.at += found[0].length;
      return found;
    },
    skipBlanks() {
      for (;;) {
        const c = source[cursor.at];
        if (c === " " || c === "\t" || c === "\r") cursor.at += 1;
        else if (c === "\\" && source[cursor.at + 1] === "\n") {
          cursor.at += 2;
          if (cursor.at >= source.length) isUnfinished = true;
        } else if (c === "#") cursor.at = cursor.findEnd("\n");
        else return;
      }
    },
    findEnd(mark) {
      const end = source.indexOf(mark, cursor.at);
      if (end < 0 && mark !== "\n") isUnfinished = true;
      return end < 0 ? source.length : end;
    },
    spend(value) {
      allowance -= value.length;
      if (allowance >= 0) return value;
      cursor.giveUp();
      return "";
    },
  };
  return cursor;
}
