import { toWord } from "./marks.ts";
import { createShellCursor, type ShellVariables } from "./shell-cursor.ts";
import {
  type Assignment,
  type CompoundCommand,
  isCompoundCommand,
  type Pipeline,
  type Redirect,
  type ShellScript,
  type ShellWord,
  type SimpleCommand,
} from "./shell-script.ts";
import { createWordReader } from "./shell-words.ts";

export interface ShellReading {
  readonly script: ShellScript;
  /** The names of the functions in the script. */
  readonly functions: ReadonlySet<string>;
  /** The script is nested too deeply or grows too much, so the reader stopped. */
  readonly isTooComplex: boolean;
  /** The script is incomplete: a quote, bracket, block or here-document is open, or the last line continues. */
  readonly isUnfinished: boolean;
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
/** Commands that set variables to unknown values. */
const READS: ReadonlySet<string> = new Set([
  ...["read", "mapfile", "readarray", "getopts", "unset", "let", "printf", "declare", "local", "typeset"],
]);
const ASSIGNMENT = /[A-Za-z_]\w*(?:\[[^\]\n]{0,64}\])?\+?=/y;
const REDIRECT = /(?:\d{1,9}|&)?(>>|>\||>&|<>|<<<|<<-?|<&|>|<)/y;
const NAME = /[A-Za-z_]\w*/y;

/**
 * Parses a command line like a POSIX shell or bash: quotes, escapes, here-documents, substitutions and its own variables.
 * It parses invalid input as far as possible and runs nothing. Its time is linear.
 */
export function readShell(
  source: string,
  variables: ShellVariables = { values: new Map(), unsure: new Set() },
  depth = 0,
): ShellReading {
  const cursor = createShellCursor(source, variables, depth);
  const readWord = createWordReader(cursor, { readParentheses, readScript });
  let parens = 0;
  const functions = new Set<string>();
  const documents: { redirect: Redirect; end: string; isIndented: boolean; isQuoted: boolean }[] = [];

  function readUntil(closer: string): ShellScript {
    const lines: Pipeline[] = [];
    let members: (SimpleCommand | CompoundCommand)[] = [];
    let isPiped = false;
    const end = (isInBackground = false): void => {
      if (members.length > 0) lines.push({ members, isInBackground });
      members = [];
      isPiped = false;
    };
    for (;;) {
      cursor.skipBlanks();
      const c = source[cursor.at];
      if (c === undefined) {
        if (closer !== "" || isPiped) cursor.markUnfinished();
        break;
      }
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
        if (next === "&" && cursor.isAtEnd()) cursor.markUnfinished();
      } else if (c === "|") {
        cursor.at += next === "|" || next === "&" ? 2 : 1;
        if (next === "|") end();
        else isPiped = true;
        if (next === "|" && cursor.isAtEnd()) cursor.markUnfinished();
      } else if (c === ")" && parens > 0) {
        if (closer === ")") cursor.at += 1;
        break;
      } else if (c === ")") {
        cursor.at += 1;
        end();
      } else {
        const member = c === "(" ? readParentheses() : readMember();
        if (member === closer) break;
        if (typeof member === "object") members.push(member);
        isPiped = false;
      }
    }
    end();
    return lines;
  }

  function readParentheses(): CompoundCommand {
    cursor.at += 1;
    parens += 1;
    const body = cursor.readNested(() => readUntil(")"), []);
    parens -= 1;
    return { body };
  }

  /** A command, a group, or the word that ends a group. */
  function readMember(): SimpleCommand | CompoundCommand | string {
    const words: ShellWord[] = [];
    const assigned: Assignment[] = [];
    const redirects: Redirect[] = [];
    for (;;) {
      cursor.skipBlanks();
      const c = source[cursor.at];
      if (c === undefined || c === "\n" || c === ";" || c === "|" || c === ")") break;
      if (c === "&" && source[cursor.at + 1] !== ">") break;
      if (c === "(") {
        const [name] = words;
        if (words.length === 1 && name !== undefined && cursor.match(/\([ \t]*\)/y))
          return readFunction(name.text);
        if (words.length === 0 && assigned.length === 0) return readParentheses();
        // The elements of an array.
        assigned.push({ name: "", text: "", substitutions: [readParentheses().body] });
        continue;
      }
      if (readRedirect(redirects)) continue;
      if (words.length === 0) {
        const name = cursor.match(ASSIGNMENT)?.[0];
        if (name !== undefined) {
          assigned.push(assign(name));
          continue;
        }
      }
      const start = cursor.at;
      const read = readWord();
      if (cursor.at === start) cursor.at += 1; // skips an unknown character, so that the loop ends
      const bare = words.length === 0 && read.isBare ? read.words[0]?.text : undefined;
      if (bare !== undefined && Object.hasOwn(OPENS, bare)) return readBlock(bare);
      if (bare !== undefined && CLOSES.has(bare)) return bare;
      if (bare !== undefined && SKIPPED.has(bare)) {
        if (bare === "time") cursor.match(/[ \t]+-p(?=[ \t])(?:[ \t]+--(?=[ \t]))?/y);
        if (bare === "coproc") cursor.match(/[ \t]+\w+[ \t]+(?=[{(])/y);
        continue;
      }
      if (bare === "function") {
        cursor.skipBlanks();
        const name = readWord().words[0]?.text ?? "";
        cursor.skipBlanks();
        cursor.match(/\([ \t]*\)/y);
        return readFunction(name);
      }
      words.push(...read.words);
    }
    const command = words[0]?.text === "builtin" || words[0]?.text === "command" ? 1 : 0;
    const program = words[command]?.text ?? "";
    const given = words.slice(command + 1);
    if (SETS.has(program)) for (const word of given) remember(word.markedText ?? word.text);
    if (READS.has(program)) for (const { text } of given) makeUnsure(program, text);
    return { words, assignments: assigned, redirects };
  }

  /** `export NAME=value` */
  function remember(text: string): void {
    const [name = "", value] = text.split(/=(.*)/s);
    if (value !== undefined && /^\w+$/.test(name)) cursor.setVariable(name, value);
  }

  /** `read NAME`, `printf -v NAME`, `let NAME=1`, `declare -n NAME=other` */
  function makeUnsure(program: string, text: string): void {
    const isSet = SETS.has(program);
    const name = /^[A-Za-z_]\w*/.exec(text)?.[0];
    if (name !== undefined && !isSet) cursor.markUnsure(name);
    if (isSet && /^[-+][a-zA-Z]*[nAailu]/.test(text)) cursor.markUnsure("IFS");
  }

  function readBlock(opener: string): CompoundCommand {
    const words: ShellWord[] = [];
    if (opener === "for" || opener === "select") words.push(...readLoopVariable(opener));
    if (opener === "case") {
      cursor.skipBlanks();
      words.push(...readWord().words);
      cursor.skipBlanks();
      cursor.match(/in\b/y);
    }
    return { body: cursor.readNested(() => readUntil(OPENS[opener] ?? ""), []), words };
  }

  /** The loop variable gets all its values, one after the other. */
  function readLoopVariable(opener: string): readonly ShellWord[] {
    cursor.skipBlanks();
    const name = cursor.match(NAME)?.[0];
    cursor.skipBlanks();
    if (name !== undefined && opener === "select") cursor.markUnsure(name);
    if (name === undefined) return [];
    if (cursor.match(/in[ \t]/y) === undefined) {
      cursor.markUnsure(name);
      return [];
    }
    const items: ShellWord[] = [];
    for (;;) {
      cursor.skipBlanks();
      const start = cursor.at;
      items.push(...readWord().words);
      if (cursor.at === start) break;
    }
    if (items.length === 0) cursor.markUnsure(name);
    const texts = items.map(({ text, markedText }) => markedText ?? text);
    cursor.setVariable(name, cursor.spend(texts.join(" ")));
    return items;
  }

  function readFunction(named: string): CompoundCommand {
    functions.add(named);
    cursor.match(/\s*/y);
    // More lenient than a shell: the brace may touch the first word.
    if (source[cursor.at] === "{") {
      cursor.at += 1;
      return { body: cursor.readNested(() => readUntil("}"), []), functionName: named };
    }
    const member = source[cursor.at] === "(" ? readParentheses() : cursor.readNested(readMember, "");
    if (typeof member === "string") return { body: [], functionName: named };
    const body = isCompoundCommand(member) ? member.body : [{ members: [member], isInBackground: false }];
    return { body, functionName: named };
  }

  function assign(target: string): Assignment {
    const name = /^\w+/.exec(target)?.[0] ?? "";
    const { words } = readWord();
    const marked = words.map(({ text, markedText }) => markedText ?? text).join(" ");
    const value = toWord(
      marked,
      words.flatMap(({ substitutions }) => substitutions),
    );
    const isAdded = target.endsWith("+=");
    const index = /\[([\s\S]*)\]/.exec(target)?.[1];
    if (index !== undefined) cursor.markUnsure(name);
    if (isAdded) cursor.values.set(name, cursor.spend((cursor.values.get(name) ?? "") + marked));
    else cursor.setVariable(name, marked);
    const inside = index !== undefined && /[$`]/.test(index) ? [readScript(`: ${index}`)] : [];
    return { name, ...value, substitutions: [...value.substitutions, ...inside] };
  }

  function readRedirect(redirects: Redirect[]): boolean {
    const c = source[cursor.at];
    if ((c === "<" || c === ">") && source[cursor.at + 1] === "(") return false;
    const operator = cursor.match(REDIRECT)?.[1];
    if (operator === undefined) return false;
    cursor.skipBlanks();
    const start = cursor.at;
    const read = readWord();
    const target = toWord(
      read.words.map((part) => part.markedText ?? part.text).join(" "),
      read.words.flatMap(({ substitutions }) => substitutions),
    );
    const { text } = target;
    const sinks = read.words.flatMap((part) => part.sinks ?? []);
    if (operator === "<<" || operator === "<<-") {
      const redirect: Redirect = { mode: "text", word: { text: "", substitutions: [] } };
      const isQuoted = /['"\\]/.test(source.slice(start, cursor.at));
      documents.push({ redirect, end: text, isIndented: operator === "<<-", isQuoted });
      redirects.push(redirect);
    } else if (operator === "<<<") redirects.push({ mode: "text", word: target });
    else if (/^(?:\d+-?|-)$/.test(text) && operator.endsWith("&")) return true;
    else
      redirects.push({
        mode: operator === ">>" ? "append" : operator.startsWith(">") || operator === "<>" ? "write" : "read",
        word: sinks.length > 0 ? { ...target, sinks } : target,
      });
    return true;
  }

  /** Reads the here-documents of a line. */
  function readDocuments(): void {
    for (const { redirect, end, isIndented, isQuoted } of documents.splice(0)) {
      const lines: string[] = [];
      let isEnded = false;
      while (cursor.at < source.length && !isEnded) {
        const line = source.slice(cursor.at, cursor.findEnd("\n"));
        cursor.at += line.length + 1;
        const given = isIndented ? line.replace(/^\t+/, "") : line;
        isEnded = given === end;
        if (!isEnded) lines.push(given);
      }
      if (!isEnded) cursor.markUnfinished();
      const text = lines.join("\n");
      redirect.word = isQuoted || !/[$`]/.test(text) ? { text, substitutions: [] } : parseDocument(text);
    }
  }

  function parseDocument(text: string): ShellWord {
    const quoted = `"${text.replaceAll('"', '\\"')}"`;
    const member = readScript(`: ${quoted}`)[0]?.members[0];
    return member !== undefined && "words" in member
      ? (member.words[1] ?? { text, substitutions: [] })
      : { text, substitutions: [] };
  }

  /** Parses a text as a script with the same variables. */
  function readScript(text: string): ShellScript {
    const read = cursor.readNested(() => readShell(text, variables, cursor.depth), undefined);
    if (read === undefined || read.isTooComplex) cursor.giveUp();
    return read?.script ?? [];
  }

  const all = readUntil("");
  if (documents.length > 0) cursor.markUnfinished();
  return { script: all, functions, isTooComplex: cursor.isTooComplex, isUnfinished: cursor.isUnfinished };
}
