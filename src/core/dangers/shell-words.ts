import type { Cursor } from "./cursor.ts";
import { saidBy, unescaped } from "./said.ts";
import type { Group, Script, Word } from "./script.ts";

export interface WordsRead {
  /** None where nothing stands there, several where a variable holds several. */
  readonly words: readonly Word[];
  /** Nothing of it was quoted or put in. */
  readonly isBare: boolean;
}

/** What the reader of words needs of the reader of scripts. */
export interface Around {
  /** What stands in the parentheses where the cursor is. */
  inParens(): Group;
  /** A text that is a script of its own. */
  again(text: string): Script;
}

const NAME = /[A-Za-z_]\w*/y;
const PARAMETER = /[!#]?(?:\w+|[@*#?$!-])/y;

/** Reads one word where the cursor is: quotes, escapes, substitutions, variables. */
export function wordReader(cursor: Cursor, { inParens, again }: Around): () => WordsRead {
  function word(): WordsRead {
    const words: Word[] = [];
    let text = "";
    let inside: Script[] = [];
    let hasWord = false;
    let isBare = true;
    const cut = (): void => {
      if (hasWord) words.push({ text, inside });
      text = "";
      inside = [];
      hasWord = false;
    };
    /** What was put in without quotes may be several words. */
    const put = (value: string, isQuoted: boolean): void => {
      const parts = isQuoted ? [value] : value.split(/[ \t\n]/);
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
        inside.push(inParens().body);
        put("/dev/fd/63", true);
        isBare = false;
        continue;
      }
      isBare &&= !"\\'\"$`".includes(c);
      if (c === "\\") {
        if (next !== "\n" && next !== undefined) put(next, true);
        cursor.at += 2;
      } else if (c === "'") {
        cursor.at += 1;
        const end = cursor.endOf("'");
        put(cursor.source.slice(cursor.at, end), true);
        cursor.at = end + 1;
      } else if (c === '"' || (c === "$" && next === '"')) {
        cursor.at += c === '"' ? 1 : 2;
        put(quoted('"', inside), true);
      } else if (c === "$" && next === "'") put(ansi(), true);
      else if (c === "$" || c === "`") {
        const value = expanded(inside);
        hasWord ||= inside.length > 0;
        put(value, false);
      } else {
        text += c;
        hasWord = true;
        cursor.at += 1;
      }
    }
    const isList =
      isBare && text.length > 2 && text.startsWith("{") && text.endsWith("}") && text.includes(",");
    if (!isList) cut();
    else for (const part of text.slice(1, -1).split(",")) words.push({ text: part, inside: [] });
    return { words, isBare };
  }

  /** Up to the closing mark, which is read, too. */
  function quoted(mark: '"' | "}", inside: Script[]): string {
    let text = "";
    while (cursor.at < cursor.source.length) {
      const c = cursor.source[cursor.at];
      if (c === mark) {
        cursor.at += 1;
        break;
      }
      if (c === "\\") {
        const next = cursor.source[cursor.at + 1] ?? "";
        if (next !== "\n") text += mark === "}" || '"\\$`'.includes(next) ? next : `\\${next}`;
        cursor.at += 2;
      } else if (c === "$" || c === "`") text += cursor.nested(() => expanded(inside), "");
      else if (mark === "}" && c === '"') {
        cursor.at += 1;
        text += cursor.nested(() => quoted('"', inside), "");
      } else if (mark === "}" && c === "'") {
        cursor.at += 1;
        const end = cursor.endOf("'");
        text += cursor.source.slice(cursor.at, end);
        cursor.at = end + 1;
      } else {
        text += c;
        cursor.at += 1;
      }
    }
    return text;
  }

  function ansi(): string {
    cursor.at += 2;
    const start = cursor.at;
    while (cursor.at < cursor.source.length && cursor.source[cursor.at] !== "'")
      cursor.at += cursor.source[cursor.at] === "\\" ? 2 : 1;
    cursor.at = Math.min(cursor.at, cursor.source.length);
    const text = unescaped(cursor.source.slice(start, cursor.at));
    cursor.at += 1;
    return text;
  }

  /** What stands where a `$` or a backtick is. */
  function expanded(inside: Script[]): string {
    if (cursor.source[cursor.at] === "`") return substituted(inside, backticks());
    cursor.at += 1;
    const c = cursor.source[cursor.at];
    if (c === "(") return substituted(inside, inParens().body);
    if (c === "{") {
      cursor.at += 1;
      return cursor.spend(braced(inside));
    }
    const name = cursor.matched(NAME)?.[0];
    if (name !== undefined) return cursor.spend(held(name));
    if (c === undefined || !/[\d@*#?$!-]/.test(c)) return "$";
    cursor.at += 1;
    return c === "0" ? "$0" : "";
  }

  function braced(inside: Script[]): string {
    const name = cursor.matched(PARAMETER)?.[0] ?? "";
    cursor.matched(/\[[@*\w]*\]/y);
    const otherwise = cursor.matched(/:?[-=+]/y) !== undefined;
    const rest = cursor.nested(() => quoted("}", inside), "");
    if (name.startsWith("#") && name !== "#") return "0";
    if (name.startsWith("!")) return cursor.known.get(cursor.known.get(name.slice(1)) ?? "") ?? "";
    if (/^[\d@*#?$!-]+$/.test(name)) return otherwise ? rest : "";
    return otherwise && !cursor.known.has(name) ? rest : held(name);
  }

  function substituted(inside: Script[], script: Script): string {
    inside.push(script);
    return cursor.spend(saidBy(script) ?? "");
  }

  function backticks(): Script {
    cursor.at += 1;
    let body = "";
    while (cursor.at < cursor.source.length && cursor.source[cursor.at] !== "`") {
      if (cursor.source[cursor.at] === "\\" && "\\`$".includes(cursor.source[cursor.at + 1] ?? " "))
        cursor.at += 1;
      body += cursor.source[cursor.at] ?? "";
      cursor.at += 1;
    }
    cursor.at += 1;
    return again(body);
  }

  /** A variable that nobody set here keeps its name, so that `$HOME/.ssh` can be recognised. */
  function held(name: string): string {
    return cursor.known.get(name) ?? GIVEN.get(name) ?? `$${name}`;
  }

  return word;
}

const GIVEN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    IFS: " ",
    HOME: "~",
    SHELL: "/bin/sh",
    BASH: "/bin/bash",
  }),
);
