import type { ShellWord } from "./shell-script.ts";
import { findStartedIndex, isKnownNotToRun, isRisky, STARTERS } from "./starters.ts";

/** A program and its arguments, without starters such as `sudo`. */
export interface ProgramCall {
  /** The name without its folder, in lower case. */
  readonly program: string;
  /** The name as written, with its folder. */
  readonly path: string;
  readonly args: readonly ShellWord[];
  /** The texts of `args`. */
  readonly argTexts: readonly string[];
  /** Single letters of `-abc`, and names of `--name=value` with their dashes. */
  readonly flags: ReadonlySet<string>;
  /** The arguments that are not options. */
  readonly operands: readonly string[];
  /** The program runs for a list of files from elsewhere, as with xargs. */
  readonly isBatch: boolean;
}

/** The maximum number of nested calls. */
const MAX_CALLS = 16;
/** The search range for a program name in the arguments of an unknown program. */
const MAX_WORDS = 24;
const MAX_GUESSES = 3;

interface CallSpan {
  readonly from: number;
  readonly to: number;
  readonly isBatch: boolean;
}

/** The call and its nested calls, outermost first, up to a limit. */
export function findCalls(words: readonly ShellWord[], isForMany = false): readonly ProgramCall[] {
  const calls: ProgramCall[] = [];
  const pending: CallSpan[] = [{ from: 0, to: words.length, isBatch: isForMany }];
  const seen = new Set<string>();
  while (pending.length > 0 && calls.length <= MAX_CALLS) {
    const span = pending.shift();
    if (span === undefined || span.from >= span.to || seen.has(`${span.from}:${span.to}`)) continue;
    seen.add(`${span.from}:${span.to}`);
    const call = parseCall(words.slice(span.from, span.to), span.isBatch);
    if (call === undefined) continue;
    calls.push(call);
    if (isLookup(call)) continue;
    for (const inner of findInnerCalls(call))
      pending.push({ ...inner, from: span.from + 1 + inner.from, to: span.from + 1 + inner.to });
  }
  return calls;
}

/** Whether the limit was exceeded. */
export function hasTooManyCalls(calls: readonly ProgramCall[]): boolean {
  return calls.length > MAX_CALLS;
}

function parseCall([first, ...args]: readonly ShellWord[], isForMany: boolean): ProgramCall | undefined {
  if (first === undefined) return undefined;
  const program = toProgramName(first.text);
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
  return { program, path: first.text, args, argTexts: given, flags, operands, isBatch: isForMany };
}

/** Normalizes `/usr/bin/RM`, `rm.exe` and `r${nothing}m` to rm. */
export function toProgramName(text: string): string {
  if (/(?:^|\/)\$0$/.test(text)) return "$0";
  const plain = text.replace(/\$\w+/g, "");
  return plain
    .slice(plain.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(/\.exe$/, "");
}

function isLookup({ program, argTexts }: ProgramCall): boolean {
  return program === "command" && /^-p?[vV]/.test(argTexts[0] ?? "");
}

/** The ranges of arguments that are commands themselves. */
function findInnerCalls(call: ProgramCall): readonly CallSpan[] {
  const { program, argTexts, isBatch } = call;
  if (program === "find" || program === "fd" || program === "fdfind" || program === "bfs")
    return findExecuted(argTexts);
  const to = argTexts.length;
  const starter = Object.hasOwn(STARTERS, program) ? STARTERS[program] : undefined;
  if (starter !== undefined) {
    const from = findStartedIndex(argTexts, starter);
    const inner: CallSpan = { from, to, isBatch: isBatch || starter.isBatch === true };
    // An unknown option may have a value; then the command is the next word.
    const before = argTexts[from - 1] ?? "";
    return /^-./.test(before) && before !== "--" ? [inner, { ...inner, from: from + 1 }] : [inner];
  }
  if (isKnownNotToRun(program)) return [];
  const guesses: CallSpan[] = [];
  for (let from = 0; from + 1 < to && from < MAX_WORDS && guesses.length < MAX_GUESSES; from += 1)
    if (isRisky(toProgramName(argTexts[from] ?? ""))) guesses.push({ from, to, isBatch });
  return guesses;
}

const EXEC_OPTIONS: ReadonlySet<string> = new Set(
  "-exec -execdir -ok -okdir -x -X --exec --exec-batch".split(" "),
);

function findExecuted(given: readonly string[]): readonly CallSpan[] {
  const found: CallSpan[] = [];
  for (let at = 0; at < given.length; at += 1) {
    if (!EXEC_OPTIONS.has(given[at] ?? "")) continue;
    let end = at + 1;
    while (
      end < given.length &&
      given[end] !== ";" &&
      given[end] !== "+" &&
      !EXEC_OPTIONS.has(given[end] ?? "")
    )
      end += 1;
    found.push({ from: at + 1, to: end, isBatch: true });
    at = end - 1;
  }
  return found;
}
