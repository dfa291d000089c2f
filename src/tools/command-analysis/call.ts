import type { Word } from "./script.ts";
import { isKnownNotToRun, isRisky, STARTERS, startOf } from "./starters.ts";

/** A program and what it is given, after everything that only starts it has been taken off. */
export interface Call {
  /** Without its folder, in small letters. */
  readonly program: string;
  /** As it is written, with its folder. */
  readonly path: string;
  readonly args: readonly Word[];
  /** What `args` say. */
  readonly given: readonly string[];
  /** Single letters of `-abc`, and names of `--name=value` with their dashes. */
  readonly flags: ReadonlySet<string>;
  /** What is no option. */
  readonly operands: readonly string[];
  /** It is run for a list of files that something else finds, as by xargs. */
  readonly isForMany: boolean;
}

/** Nobody needs more of them in one command. */
const MOST_CALLS = 16;
/** An unknown program that starts another names it among its first words. */
const MOST_WORDS = 24;
const MOST_GUESSES = 3;

interface Span {
  readonly from: number;
  readonly to: number;
  readonly isForMany: boolean;
}

/** The call and what it calls in turn, outermost first. Nothing more after as many as nobody needs. */
export function callsIn(words: readonly Word[], isForMany = false): readonly Call[] {
  const calls: Call[] = [];
  const pending: Span[] = [{ from: 0, to: words.length, isForMany }];
  const seen = new Set<string>();
  while (pending.length > 0 && calls.length <= MOST_CALLS) {
    const span = pending.shift();
    if (span === undefined || span.from >= span.to || seen.has(`${span.from}:${span.to}`)) continue;
    seen.add(`${span.from}:${span.to}`);
    const call = callOf(words.slice(span.from, span.to), span.isForMany);
    if (call === undefined) continue;
    calls.push(call);
    if (isLookedUp(call)) continue;
    for (const inner of innerOf(call))
      pending.push({ ...inner, from: span.from + 1 + inner.from, to: span.from + 1 + inner.to });
  }
  return calls;
}

/** Whether it was given up. */
export function isEndless(calls: readonly Call[]): boolean {
  return calls.length > MOST_CALLS;
}

function callOf([first, ...args]: readonly Word[], isForMany: boolean): Call | undefined {
  if (first === undefined) return undefined;
  const program = programIn(first.text);
  const flags = new Set<string>();
  const operands: string[] = [];
  const given = args.map(({ text }) => text);
  let isOver = false;
  for (const text of given) {
    if (isOver || !text.startsWith("-") || text === "-") operands.push(text);
    else if (text === "--") isOver = true;
    else if (text.startsWith("--")) flags.add(text.split("=", 1)[0] ?? text);
    else for (const letter of text.slice(1, 33)) flags.add(letter);
  }
  return { program, path: first.text, args, given, flags, operands, isForMany };
}

/** `/usr/bin/RM`, `rm.exe` and `r${nothing}m` are rm. */
export function programIn(text: string): string {
  if (/(?:^|\/)\$0$/.test(text)) return "$0";
  const plain = text.replace(/\$\w+/g, "");
  return plain
    .slice(plain.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(/\.exe$/, "");
}

function isLookedUp({ program, given }: Call): boolean {
  return program === "command" && /^-p?[vV]/.test(given[0] ?? "");
}

/** The words that are a command of their own, counted from the first argument. */
function innerOf(call: Call): readonly Span[] {
  const { program, given, isForMany } = call;
  if (program === "find" || program === "fd" || program === "fdfind" || program === "bfs")
    return findExecuted(given);
  const to = given.length;
  const starter = Object.hasOwn(STARTERS, program) ? STARTERS[program] : undefined;
  if (starter !== undefined) {
    const from = startOf(given, starter);
    const inner: Span = { from, to, isForMany: isForMany || starter.isForMany === true };
    // An option that is not known may take a value: then the command is the word after that.
    const before = given[from - 1] ?? "";
    return /^-./.test(before) && before !== "--" ? [inner, { ...inner, from: from + 1 }] : [inner];
  }
  if (isKnownNotToRun(program)) return [];
  const guesses: Span[] = [];
  for (let from = 0; from + 1 < to && from < MOST_WORDS && guesses.length < MOST_GUESSES; from += 1)
    if (isRisky(programIn(given[from] ?? ""))) guesses.push({ from, to, isForMany });
  return guesses;
}

const EXECUTES: ReadonlySet<string> = new Set(
  "-exec -execdir -ok -okdir -x -X --exec --exec-batch".split(" "),
);

function findExecuted(given: readonly string[]): readonly Span[] {
  const found: Span[] = [];
  for (let at = 0; at < given.length; at += 1) {
    if (!EXECUTES.has(given[at] ?? "")) continue;
    let end = at + 1;
    while (end < given.length && given[end] !== ";" && given[end] !== "+" && !EXECUTES.has(given[end] ?? ""))
      end += 1;
    found.push({ from: at + 1, to: end, isForMany: true });
    at = end - 1;
  }
  return found;
}
