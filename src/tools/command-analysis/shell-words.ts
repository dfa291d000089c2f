import { expandBraces } from "./braces.ts";
import { isGenerator, isToken } from "./known-output.ts";
import { MARK, markQuoted, markSplit, toWord } from "./marks.ts";
import { applyOperator, markMade } from "./parameter.ts";
import { decodeEscapes, findPrintedText } from "./printed-text.ts";
import type { ShellCursor } from "./shell-cursor.ts";
import type { CompoundCommand, ShellScript, ShellWord } from "./shell-script.ts";

export interface WordReading {
  /** None for an empty expansion, several for a variable with several words. */
  readonly words: readonly ShellWord[];
  /** Contains no quotes and no expansions. */
  readonly isBare: boolean;
}

/** The script parser, as the word parser needs it. */
export interface ScriptReader {
  /** Parses the parentheses at the cursor. */
  readParentheses(): CompoundCommand;
  /** Parses a text as a script. */
  readScript(text: string): ShellScript;
}

const NAME = /[A-Za-z_]\w*/y;
const PARAMETER = /[!#]?(?:\w+|[@*#?$!-])/y;
const OPERATOR = /:?[-=+?]|##?|%%?|\/\/?|\^\^?|,,?|:|@/y;

/** Parses one word at the cursor: quotes, escapes, substitutions, variables. */
export function createWordReader(
  cursor: ShellCursor,
  { readParentheses, readScript }: ScriptReader,
): () => WordReading {
  function readWord(): WordReading {
    const words: ShellWord[] = [];
    let text = "";
    let inside: ShellScript[] = [];
    let sinks: ShellScript[] = [];
    let hasWord = false;
    let isBare = true;
    const cut = (): void => {
      if (hasWord) {
        const all = expandBraces(text);
        if (all === undefined) cursor.giveUp();
        else words.push(...all.map((one, index) => toWord(one, index === 0 ? inside : [])));
        const [first] = words;
        if (sinks.length > 0 && first !== undefined) words[0] = { ...first, sinks };
      }
      text = "";
      inside = [];
      sinks = [];
      hasWord = false;
    };
    /** An unquoted expansion may become several words. */
    const put = (value: string, isQuoted: boolean): void => {
      const parts = isQuoted ? [markQuoted(value)] : markSplit(value).split(/[ \t\n]/);
      parts.forEach((part, index) => {
        if (index > 0) cut();
        text += part;
        if (isQuoted || part !== "") hasWord = true;
      });
    };
    for (;;) {
      const c = cursor.source[cursor.at];
      const next = cursor.source[cursor.at + 1];
      if (c === undefined || " \t\r\n;|&()".includes(c)) break;
      if (c === "<" || c === ">") {
        if (next !== "(") break;
        cursor.at += 1;
        const body = readParentheses().body;
        inside.push(body);
        if (c === ">") sinks.push(body);
        put("/dev/fd/63", true);
        isBare = false;
        continue;
      }
      isBare &&= !"\\'\"$`".includes(c);
      if (c === "\\") {
        if (next !== "\n" && next !== undefined) put(next, true);
        cursor.at += 2;
        if (cursor.at >= cursor.source.length && (next === "\n" || next === undefined))
          cursor.markUnfinished();
      } else if (c === "'") {
        cursor.at += 1;
        const end = cursor.findEnd("'");
        put(cursor.source.slice(cursor.at, end), true);
        cursor.at = end + 1;
      } else if (c === '"' || (c === "$" && next === '"')) {
        cursor.at += c === '"' ? 1 : 2;
        put(readQuoted('"', inside), true);
      } else if (c === "$" && next === "'") put(readAnsi(), true);
      else if (c === "$" || c === "`") {
        const value = readExpansion(inside);
        hasWord ||= inside.length > 0;
        put(value, false);
      } else {
        text += c === "{" ? MARK.open : c === "," ? MARK.comma : c === "}" ? MARK.close : c;
        hasWord = true;
        cursor.at += 1;
      }
    }
    cut();
    return { words, isBare };
  }

  /** Parses up to and including the closing mark. */
  function readQuoted(mark: '"' | "}", inside: ShellScript[]): string {
    let text = "";
    for (;;) {
      const c = cursor.source[cursor.at];
      if (c === undefined) {
        cursor.markUnfinished();
        break;
      }
      if (c === mark) {
        cursor.at += 1;
        break;
      }
      if (c === "\\") {
        const next = cursor.source[cursor.at + 1] ?? "";
        if (next !== "\n") text += mark === "}" || '"\\$`'.includes(next) ? next : `\\${next}`;
        cursor.at += 2;
      } else if (c === "$" || c === "`") text += cursor.readNested(() => readExpansion(inside), "");
      else if (mark === "}" && c === '"') {
        cursor.at += 1;
        text += cursor.readNested(() => readQuoted('"', inside), "");
      } else if (mark === "}" && c === "'") {
        cursor.at += 1;
        const end = cursor.findEnd("'");
        text += cursor.source.slice(cursor.at, end);
        cursor.at = end + 1;
      } else {
        text += c;
        cursor.at += 1;
      }
    }
    return text;
  }

  function readAnsi(): string {
    cursor.at += 2;
    const start = cursor.at;
    while (cursor.at < cursor.source.length && cursor.source[cursor.at] !== "'")
      cursor.at += cursor.source[cursor.at] === "\\" ? 2 : 1;
    if (cursor.at >= cursor.source.length) cursor.markUnfinished();
    cursor.at = Math.min(cursor.at, cursor.source.length);
    const text = decodeEscapes(cursor.source.slice(start, cursor.at));
    cursor.at += 1;
    return text;
  }

  /** Parses an expansion at a `$` or a backtick. */
  function readExpansion(inside: ShellScript[]): string {
    if (cursor.source[cursor.at] === "`") return recordSubstitution(inside, readBackticks());
    cursor.at += 1;
    const c = cursor.source[cursor.at];
    if (c === "(") return recordSubstitution(inside, readParentheses().body);
    if (c === "{") {
      cursor.at += 1;
      return cursor.spend(readBraced(inside));
    }
    const name = cursor.match(NAME)?.[0];
    if (name !== undefined) return cursor.spend(readVariable(name));
    if (c === undefined || !/[\d@*#?$!-]/.test(c)) return "$";
    cursor.at += 1;
    return c === "0" ? `${MARK.made}$0` : MARK.made;
  }

  function readBraced(inside: ShellScript[]): string {
    const name = cursor.match(PARAMETER)?.[0] ?? "";
    const index = cursor.match(/\[[^\]\n]{0,64}\]/y)?.[0];
    if (index !== undefined && /[$`]/.test(index)) inside.push(readScript(`: ${index.slice(1, -1)}`));
    const operator = cursor.match(OPERATOR)?.[0] ?? "";
    const rest = cursor.readNested(() => readQuoted("}", inside), "");
    const isDefault = /^:?[-=+]$/.test(operator);
    if (/^[\d@*#?$!-]+$/.test(name)) return isDefault ? rest : MARK.made;
    if (name.startsWith("#")) {
      const value = cursor.values.get(name.slice(1));
      return value === undefined ? MARK.made : String(value.length);
    }
    if (name.startsWith("!")) {
      const value = cursor.values.get(cursor.values.get(name.slice(1)) ?? "");
      return value ?? MARK.made;
    }
    if (isDefault) return cursor.values.has(name) && !operator.endsWith("+") ? readVariable(name) : rest;
    const value = readVariable(name);
    if (index !== undefined) return markMade(value);
    return applyOperator(value, operator.replace(/^:?\?$/, ""), rest) ?? markMade(value);
  }

  function recordSubstitution(inside: ShellScript[], script: ShellScript): string {
    inside.push(script);
    const printed = findPrintedText(script);
    if (printed !== undefined) return cursor.spend(printed);
    if (isGenerator(script)) return "";
    return isToken(script) ? MARK.inherited : MARK.made;
  }

  function readBackticks(): ShellScript {
    cursor.at += 1;
    let body = "";
    while (cursor.at < cursor.source.length && cursor.source[cursor.at] !== "`") {
      if (cursor.source[cursor.at] === "\\" && "\\`$".includes(cursor.source[cursor.at + 1] ?? " "))
        cursor.at += 1;
      body += cursor.source[cursor.at] ?? "";
      cursor.at += 1;
    }
    if (cursor.at >= cursor.source.length) cursor.markUnfinished();
    cursor.at += 1;
    return readScript(body);
  }

  /** A variable that is not set here keeps its name, so that `$HOME/.ssh` is recognized. */
  function readVariable(name: string): string {
    const given = cursor.values.get(name) ?? DEFAULT_VARIABLES.get(name);
    const isUnsure = cursor.isUnsure(name) || (given !== undefined && cursor.isUnsure("IFS"));
    if (given !== undefined) return isUnsure ? markMade(given) : given;
    return `${isUnsure ? MARK.made : MARK.inherited}$${name}`;
  }

  return readWord;
}

const DEFAULT_VARIABLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    IFS: " ",
    HOME: "~",
    PWD: ".",
    SHELL: "/bin/sh",
    BASH: "/bin/bash",
  }),
);
