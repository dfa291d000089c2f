import { cursorOn } from "./cursor.ts";
import {
  type Group,
  isGroup,
  type Pipeline,
  type Redirect,
  type Script,
  type Step,
  type Word,
} from "./script.ts";
import { wordReader } from "./shell-words.ts";

export interface Read {
  readonly script: Script;
  /** Names of the functions that it defines. */
  readonly functions: ReadonlySet<string>;
  /** It is nested so deep, or grows so much, that it was not read to its end. */
  readonly isTooMuch: boolean;
}

const OPENS: Readonly<Record<string, string>> = {
  "{": "}",
  if: "fi",
  while: "done",
  until: "done",
  for: "done",
  select: "done",
  case: "esac",
};
const CLOSES: ReadonlySet<string> = new Set(["}", "fi", "done", "esac"]);
const SKIPPED: ReadonlySet<string> = new Set(["then", "else", "elif", "do", "!", "time", "coproc"]);
const SETS: ReadonlySet<string> = new Set(["export", "declare", "local", "readonly", "typeset"]);
const ASSIGNMENT = /[A-Za-z_]\w*(?:\[\w*\])?\+?=/y;
const REDIRECT = /(?:\d{1,9}|&)?(>>|>\||>&|<>|<<<|<<-?|<&|>|<)/y;
const NAME = /[A-Za-z_]\w*/y;

/**
 * Reads a command line as a POSIX shell or bash would: quotes, escapes, continuations, here-documents, substitutions and
 * the variables that it sets itself. What is not valid is read as far as it goes; nothing is run. The time it takes grows
 * with the length and no faster.
 */
export function readShell(source: string, known: Map<string, string> = new Map(), depth = 0): Read {
  const cursor = cursorOn(source, known, depth);
  const word = wordReader(cursor, { inParens, again });
  let parens = 0;
  const functions = new Set<string>();
  const documents: { redirect: Redirect; end: string; isIndented: boolean; isQuoted: boolean }[] = [];

  function script(closer: string): Script {
    const lines: Pipeline[] = [];
    let members: (Step | Group)[] = [];
    let isPiped = false;
    const end = (isInBackground = false): void => {
      if (members.length > 0) lines.push({ members, isInBackground });
      members = [];
      isPiped = false;
    };
    for (;;) {
      cursor.blanks();
      const c = source[cursor.at];
      if (c === undefined) break;
      const next = source[cursor.at + 1];
      if (c === "\n") {
        cursor.at += 1;
        readDocuments();
        if (!isPiped) end();
      } else if (c === ";") {
        cursor.at += 1;
        end();
      } else if (c === "&" && next !== ">") {
        cursor.at += next === "&" ? 2 : 1;
        end(next !== "&");
      } else if (c === "|") {
        cursor.at += next === "|" || next === "&" ? 2 : 1;
        if (next === "|") end();
        else isPiped = true;
      } else if (c === ")" && parens > 0) {
        if (closer === ")") cursor.at += 1;
        break;
      } else if (c === ")") {
        cursor.at += 1;
        end();
      } else {
        const member = c === "(" ? inParens() : step();
        if (member === closer) break;
        if (typeof member === "object") members.push(member);
        isPiped = false;
      }
    }
    end();
    return lines;
  }

  function inParens(): Group {
    cursor.at += 1;
    parens += 1;
    const body = cursor.nested(() => script(")"), []);
    parens -= 1;
    return { body };
  }

  /** A program, a group, or the word that ends one. */
  function step(): Step | Group | string {
    const words: Word[] = [];
    const assigned: Word[] = [];
    const redirects: Redirect[] = [];
    for (;;) {
      cursor.blanks();
      const c = source[cursor.at];
      if (c === undefined || c === "\n" || c === ";" || c === "|" || c === ")") break;
      if (c === "&" && source[cursor.at + 1] !== ">") break;
      if (c === "(") {
        const [name] = words;
        if (words.length === 1 && name !== undefined && cursor.matched(/\([ \t]*\)/y))
          return defined(name.text);
        if (words.length === 0 && assigned.length === 0) return inParens();
        // The elements of an array.
        assigned.push({ text: "", inside: [inParens().body] });
        continue;
      }
      if (redirected(redirects)) continue;
      if (words.length === 0) {
        const name = cursor.matched(ASSIGNMENT)?.[0];
        if (name !== undefined) {
          assigned.push(assign(name));
          continue;
        }
      }
      const start = cursor.at;
      const read = word();
      if (cursor.at === start) cursor.at += 1; // whatever it is, it is not read twice
      const bare = words.length === 0 && read.isBare ? read.words[0]?.text : undefined;
      if (bare !== undefined && Object.hasOwn(OPENS, bare)) return block(bare);
      if (bare !== undefined && CLOSES.has(bare)) return bare;
      if (bare !== undefined && SKIPPED.has(bare)) continue;
      if (bare === "function") {
        cursor.blanks();
        const name = word().words[0]?.text ?? "";
        cursor.blanks();
        cursor.matched(/\([ \t]*\)/y);
        return defined(name);
      }
      words.push(...read.words);
    }
    if (SETS.has(words[0]?.text ?? "")) for (const { text } of words) remember(text);
    return { words, assigned, redirects };
  }

  /** `export NAME=value` */
  function remember(text: string): void {
    const [name = "", value] = text.split(/=(.*)/s);
    if (value !== undefined && /^\w+$/.test(name)) known.set(name, value);
  }

  function block(opener: string): Group {
    if (opener === "for" || opener === "select") loopVariable();
    if (opener === "case") {
      cursor.blanks();
      word();
      cursor.blanks();
      cursor.matched(/in\b/y);
    }
    return { body: cursor.nested(() => script(OPENS[opener] ?? ""), []) };
  }

  /** All that it will be, one after the other. */
  function loopVariable(): void {
    cursor.blanks();
    const name = cursor.matched(NAME)?.[0];
    cursor.blanks();
    if (name === undefined || cursor.matched(/in[ \t]/y) === undefined) return;
    const items: string[] = [];
    for (;;) {
      cursor.blanks();
      const start = cursor.at;
      items.push(...word().words.map(({ text }) => text));
      if (cursor.at === start) break;
    }
    known.set(name, cursor.spend(items.join(" ")));
  }

  function defined(named: string): Group {
    functions.add(named);
    cursor.matched(/\s*/y);
    // Unlike a shell, also where the brace stands at the first word of the body.
    if (source[cursor.at] === "{") {
      cursor.at += 1;
      return { body: cursor.nested(() => script("}"), []), named };
    }
    const member = source[cursor.at] === "(" ? inParens() : cursor.nested(step, "");
    if (typeof member === "string") return { body: [], named };
    const body = isGroup(member) ? member.body : [{ members: [member], isInBackground: false }];
    return { body, named };
  }

  function assign(target: string): Word {
    const name = /^\w+/.exec(target)?.[0] ?? "";
    const { words } = word();
    const value: Word = {
      text: words.map(({ text }) => text).join(" "),
      inside: words.flatMap(({ inside }) => inside),
    };
    known.set(name, target.endsWith("+=") ? (known.get(name) ?? "") + value.text : value.text);
    return value;
  }

  function redirected(redirects: Redirect[]): boolean {
    const c = source[cursor.at];
    if ((c === "<" || c === ">") && source[cursor.at + 1] === "(") return false;
    const operator = cursor.matched(REDIRECT)?.[1];
    if (operator === undefined) return false;
    cursor.blanks();
    const start = cursor.at;
    const read = word();
    const text = read.words.map((part) => part.text).join(" ");
    const target: Word = { text, inside: read.words.flatMap(({ inside }) => inside) };
    if (operator === "<<" || operator === "<<-") {
      const redirect: Redirect = { way: "text", word: { text: "", inside: [] } };
      const isQuoted = /['"\\]/.test(source.slice(start, cursor.at));
      documents.push({ redirect, end: text, isIndented: operator === "<<-", isQuoted });
      redirects.push(redirect);
    } else if (operator === "<<<") redirects.push({ way: "text", word: target });
    else if (/^(?:\d+-?|-)$/.test(text) && operator.endsWith("&")) return true;
    else
      redirects.push({
        way: operator === ">>" ? "append" : operator.startsWith(">") || operator === "<>" ? "write" : "read",
        word: target,
      });
    return true;
  }

  /** What stands below the line, for each `<<` of it. */
  function readDocuments(): void {
    for (const { redirect, end, isIndented, isQuoted } of documents.splice(0)) {
      const lines: string[] = [];
      while (cursor.at < source.length) {
        const line = source.slice(cursor.at, cursor.endOf("\n"));
        cursor.at += line.length + 1;
        const given = isIndented ? line.replace(/^\t+/, "") : line;
        if (given === end) break;
        lines.push(given);
      }
      const text = lines.join("\n");
      redirect.word = isQuoted || !/[$`]/.test(text) ? { text, inside: [] } : documentWord(text);
    }
  }

  function documentWord(text: string): Word {
    const quoted = `"${text.replaceAll('"', '\\"')}"`;
    const member = again(`: ${quoted}`)[0]?.members[0];
    return member !== undefined && "words" in member
      ? (member.words[1] ?? { text, inside: [] })
      : { text, inside: [] };
  }

  /** A text that is read as a script of its own, with the same variables. */
  function again(text: string): Script {
    const read = cursor.nested(() => readShell(text, known, cursor.depth), undefined);
    if (read === undefined || read.isTooMuch) cursor.giveUp();
    return read?.script ?? [];
  }

  return { script: script(""), functions, isTooMuch: cursor.isTooMuch };
}
