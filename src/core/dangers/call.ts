import type { Word } from "./script.ts";

/** A program and what it is given, after everything that only starts it has been taken off. */
export interface Call {
  /** Without its folder, in small letters. */
  readonly program: string;
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

/** What a program that starts another takes before it: options with a value, and so many operands. */
export interface Starter {
  readonly values?: string;
  readonly operands?: number;
  readonly isForMany?: true;
}

const STARTERS: Readonly<Record<string, Starter | undefined>> = {
  sudo: { values: "u g h p C r t D R T U" },
  doas: { values: "u C" },
  pkexec: { values: "-user" },
  env: { values: "u C" },
  command: {},
  builtin: {},
  exec: { values: "a" },
  nohup: {},
  setsid: {},
  nice: { values: "n" },
  ionice: { values: "c n p" },
  time: { values: "f o" },
  timeout: { values: "s k", operands: 1 },
  gtimeout: { values: "s k", operands: 1 },
  stdbuf: { values: "i o e" },
  unbuffer: {},
  caffeinate: { values: "t w" },
  taskset: { operands: 1 },
  chrt: { operands: 1 },
  strace: { values: "e o p s" },
  ltrace: { values: "e o p s" },
  chroot: { operands: 1 },
  unshare: {},
  flock: { values: "w E", operands: 1 },
  runuser: { values: "u g" },
  busybox: {},
  toybox: {},
  npx: { values: "p -package" },
  bunx: {},
  pnpx: {},
  xargs: { values: "I n P L d a s E -arg-file -delimiter -max-args -max-procs -replace", isForMany: true },
  parallel: { values: "j a -jobs", isForMany: true },
};
/** Nobody needs more of them in a row. */
const MOST_STARTERS = 16;

/** The call and what it calls in turn, outermost first. Nothing more after as many as nobody needs. */
export function callsIn(
  words: readonly Word[],
  isForMany = false,
  left: number = MOST_STARTERS,
): readonly Call[] {
  const call = callOf(words, isForMany);
  if (call === undefined || left === 0) return [];
  const inner = isLookedUp(call) ? [] : innerOf(call);
  return [call, ...inner.flatMap((one) => callsIn(one.words, one.isForMany, left - 1))];
}

/** Whether it was given up. */
export function isEndless(calls: readonly Call[]): boolean {
  return calls.length >= MOST_STARTERS && calls.every(({ program }) => Object.hasOwn(STARTERS, program));
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
  return { program, args, given, flags, operands, isForMany };
}

/** `/usr/bin/RM`, `rm.exe` and `r${nothing}m` are rm. */
function programIn(text: string): string {
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

interface Inner {
  readonly words: readonly Word[];
  readonly isForMany: boolean;
}

function innerOf(call: Call): readonly Inner[] {
  const { program, args, given, isForMany } = call;
  if (program === "find" || program === "fd" || program === "fdfind") return foundWith(call);
  const starter = Object.hasOwn(STARTERS, program) ? STARTERS[program] : undefined;
  if (starter === undefined) return [];
  return [{ words: args.slice(startOf(given, starter)), isForMany: isForMany || starter.isForMany === true }];
}

/** Where what is started begins, after options, assignments and the starter's own operands. */
export function startOf(given: readonly string[], { values = "", operands = 0 }: Starter): number {
  const valued = new Set(values.split(" "));
  let left = operands;
  for (let at = 0; at < given.length; at += 1) {
    const text = given[at] ?? "";
    if (text.startsWith("-") && text.length > 1) {
      if (text !== "--" && valued.has(text.slice(1))) at += 1;
    } else if (/^[A-Za-z_]\w*=/.test(text)) continue;
    else if (left === 0) return at;
    else left -= 1;
  }
  return given.length;
}

const EXECUTES: ReadonlySet<string> = new Set([
  "-exec",
  "-execdir",
  "-ok",
  "-okdir",
  "-x",
  "-X",
  "--exec",
  "--exec-batch",
]);

function foundWith({ args, given }: Call): readonly Inner[] {
  const found: Inner[] = [];
  for (let at = 0; at < given.length; at += 1) {
    if (!EXECUTES.has(given[at] ?? "")) continue;
    let end = at + 1;
    while (end < given.length && given[end] !== ";" && given[end] !== "+" && !EXECUTES.has(given[end] ?? ""))
      end += 1;
    found.push({ words: args.slice(at + 1, end), isForMany: true });
    at = end - 1;
  }
  return found;
}
