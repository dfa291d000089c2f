import type { ProgramCall } from "./program-call.ts";

interface Interpreter {
  /** The option before inline code. */
  readonly code: RegExp;
  /** Options with a value. */
  readonly values: string;
  /** Options with which the interpreter does not run its input. */
  readonly else?: RegExp;
}

const PYTHON: Interpreter = { code: /^-[a-zA-Z]*c/, values: "W X", else: /^-[a-zA-Z]*m/ };
const NODE: Interpreter = {
  code: /^(?:-[a-z]*[ep]|--eval|--print)/,
  values: "r C -require -import -loader -conditions -env-file",
  else: /^--(?:test|run|watch)/,
};
const AWK: Interpreter = { code: /^/, values: "F v f" };

/** Interpreters of other languages. Shells are in executed-scripts.ts. */
const INTERPRETERS: Readonly<Record<string, Interpreter | undefined>> = {
  python: PYTHON,
  pypy: PYTHON,
  ipython: PYTHON,
  perl: { code: /^-[a-zA-Z0-9]*[eE]/, values: "I" },
  ruby: { code: /^-[a-zA-Z]*e/, values: "I r C" },
  irb: { code: /^-e/, values: "I r" },
  node: NODE,
  nodejs: NODE,
  tsx: NODE,
  "ts-node": NODE,
  bun: { code: /^(?:-e|--eval|-p|--print)/, values: "", else: /^(?:run|x|install|test|add|build)$/ },
  deno: { code: /^eval$/, values: "", else: /^(?:run|test|task|fmt|lint|check|install)$/ },
  php: { code: /^-[a-zA-Z]*[rBRE]/, values: "d c S t z" },
  lua: { code: /^-e/, values: "l" },
  luajit: { code: /^-e/, values: "l" },
  osascript: { code: /^-e/, values: "l" },
  groovy: { code: /^-e/, values: "cp" },
  scala: { code: /^-e/, values: "cp" },
  julia: { code: /^(?:-[eE]|--eval|--print)/, values: "" },
  rscript: { code: /^-e/, values: "" },
  r: { code: /^-e/, values: "f" },
  tclsh: { code: /^$/, values: "" },
  expect: { code: /^-c/, values: "" },
  guile: { code: /^-c/, values: "" },
  elixir: { code: /^(?:-e|--eval)/, values: "" },
  erl: { code: /^-eval/, values: "" },
  ghc: { code: /^-e/, values: "" },
  raku: { code: /^-e/, values: "I" },
  swift: { code: /^-e/, values: "" },
  pwsh: { code: /^-c(?:ommand)?$/i, values: "File" },
  powershell: { code: /^-c(?:ommand)?$/i, values: "File" },
  awk: AWK,
  gawk: AWK,
  mawk: AWK,
  nawk: AWK,
};

export function isAwk(program: string): boolean {
  return /^[gmn]?awk$/.test(program);
}

function findInterpreter(program: string): Interpreter | undefined {
  const name = program.replace(/[\d.]+$/, "");
  return Object.hasOwn(INTERPRETERS, name) ? INTERPRETERS[name] : undefined;
}

export function isInterpreter(program: string): boolean {
  return findInterpreter(program) !== undefined;
}

/** The index of inline code in the arguments, if there is any. */
export function findCodeIndex({ program, argTexts }: ProgramCall): number | undefined {
  const interpreter = findInterpreter(program);
  if (interpreter === undefined || isAwk(program)) return undefined;
  const found = argTexts.findIndex((arg) => interpreter.code.test(arg));
  return found < 0 ? undefined : found;
}

/** Whether the interpreter reads its code from stdin. */
export function isReadingCode(call: ProgramCall): boolean {
  const { program, argTexts } = call;
  const interpreter = findInterpreter(program);
  if (interpreter === undefined) return false;
  if (isAwk(program)) return isFileOption(argTexts, "-f");
  if (findCodeIndex(call) !== undefined) return false;
  if (argTexts.some(isStdinPath)) return true;
  if (interpreter.else !== undefined && argTexts.some((arg) => interpreter.else?.test(arg))) return false;
  if (argTexts.some((arg) => /^(?:-[vVh]|--version|--help)$/.test(arg))) return false;
  const operand = findFirstOperand(argTexts, interpreter.values);
  return operand === undefined || isStdinPath(operand);
}

/** The first argument that is neither an option nor its value. */
export function findFirstOperand(given: readonly string[], values: string): string | undefined {
  const valued = new Set(values.split(" "));
  for (let at = 0; at < given.length; at += 1) {
    const text = given[at] ?? "";
    if (text === "--") return given[at + 1];
    if (!/^[-+]./.test(text)) return text;
    if (valued.has(text.slice(1))) at += 1;
  }
  return undefined;
}

/** Paths that mean stdin. */
export function isStdinPath(path: string): boolean {
  return path === "-" || /^\/(?:dev|proc\/(?:self|thread-self))\/(?:stdin|fd\/0)$/.test(path);
}

function isFileOption(given: readonly string[], name: string): boolean {
  return given.some(
    (arg, index) =>
      (arg === name && isStdinPath(given[index + 1] ?? "")) || isStdinPath(arg.replace(name, "") || "x"),
  );
}
