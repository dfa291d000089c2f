const MAX_DEPTH = 50;
const BLANK = /\s*$/y;

/** Where a text is being read, and how much of it may be read at all. */
export interface ShellCursor {
  readonly source: string;
  at: number;
  /** How many times what is read stands within something else. */
  readonly depth: number;
  /** What the variables hold that were set so far. */
  readonly values: Map<string, string>;
  /** Sets a variable. One that is set again may hold either value, since it is not known which branch runs. */
  setVariable(name: string, value: string): void;
  /** The command gives the variable a value that is not known here. */
  markUnsure(name: string): void;
  isUnsure(name: string): boolean;
  /** It was not read to its end. */
  readonly isTooComplex: boolean;
  giveUp(): void;
  /** Something was still open at the end. */
  readonly isUnfinished: boolean;
  markUnfinished(): void;
  /** Nothing but space follows. */
  isAtEnd(): boolean;
  /** Reads something within something, unless that goes too deep. */
  readNested<Result>(read: () => Result, otherwise: Result): Result;
  /** What fits a sticky pattern here is read. */
  match(pattern: RegExp): RegExpExecArray | undefined;
  /** Spaces, continued lines and comments are read. */
  skipBlanks(): void;
  /** Where the mark stands next, else the end. */
  findEnd(mark: string): number;
  /** A value to put in. Variables that hold each other could grow without end. */
  spend(value: string): string;
}

/** The variables of a command: their last value, and those whose value is not sure. */
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
