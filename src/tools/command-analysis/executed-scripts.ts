import type { ProgramInput } from "./danger-rule.ts";
import { findGitScripts } from "./git-rules.ts";
import {
  findCodeIndex,
  findFirstOperand,
  isInterpreter,
  isReadingCode,
  isStdinPath,
} from "./interpreters.ts";
import { type ProgramCall, toProgramName } from "./program-call.ts";
import type { ShellScript, ShellWord } from "./shell-script.ts";
import { findStartedIndex, isKnownNotToRun, isRisky } from "./starters.ts";

const SHELLS: ReadonlySet<string> = new Set(
  "sh bash zsh dash ksh ksh93 mksh ash fish csh tcsh rbash rzsh yash posh elvish nu xonsh".split(" "),
);
const SSH = { values: "i p l o F J L R D E b c m O S W B e I Q w", operands: 1 };
const SHELL_VALUES = "o O rcfile -rcfile -init-file";

export function isShell({ program }: Pick<ProgramCall, "program">): boolean {
  return SHELLS.has(program);
}

/** The shell scripts that a call gets as arguments or as input. Unknown parts are marked. */
export function findScripts(call: ProgramCall, feed: ProgramInput): readonly string[] {
  const { program, operands } = call;
  const given = call.args.map(({ text, markedText }) => markedText ?? text);
  const read = feed.text ?? "";
  if (isShell(call)) return [...findScriptAfterC(given), read];
  switch (program) {
    case "eval":
      return [given.join(" ")];
    case "source":
    case ".":
      return isStdinPath(operands[0] ?? "") ? [read] : [];
    case "trap":
      return given.filter((arg) => !/^-[a-z-]$/.test(arg)).slice(0, 1);
    case "alias":
      return given.map((arg) => arg.slice(arg.indexOf("=") + 1));
    case "complete":
    case "compgen":
    case "mapfile":
    case "readarray":
      return given.flatMap((arg, index) => (/^-[a-zA-Z]*C$/.test(arg) ? [given[index + 1] ?? ""] : []));
    case "bind":
      return given.map((arg) => arg.slice(arg.indexOf(":") + 1).replaceAll('"', ""));
    case "ssh":
      return [given.slice(findStartedIndex(call.argTexts, SSH)).join(" "), read];
    case "watch":
      return [given.slice(findStartedIndex(call.argTexts, { values: "n -interval" })).join(" ")];
    case "env":
      return given.flatMap((arg, index) => findSplitString(arg, given, index));
    case "cmd":
      return /^\/[ck]$/i.test(given[0] ?? "") ? [given.slice(1).join(" ")] : [];
    case "pwsh":
    case "powershell":
      return given.flatMap((arg, index) =>
        /^-c(?:ommand)?$/i.test(arg) ? [given.slice(index + 1).join(" ")] : [],
      );
    case "parallel":
      return [...listSpacedTexts(given), given.every((arg) => arg.startsWith("-")) ? read : ""];
    case "tmux":
    case "screen":
      return listSpacedTexts(given);
    case "npm":
    case "pnpm":
    case "yarn":
      return [...findPackageScripts(given), ...findScriptAfterCall(given)];
    case "make":
    case "gmake":
      return findRecipes(given, read);
    case "git":
      return findGitScripts(call);
    default:
      return isKnownNotToRun(program) && !/^(?:flock|runuser|npx|su|xargs|entr|sudo|doas)$/.test(program)
        ? []
        : [...findScriptAfterC(given), ...findScriptAfterCall(given), ...findRiskyTexts(given)];
  }
}

function listSpacedTexts(given: readonly string[]): readonly string[] {
  return given.filter((arg) => /\s/.test(arg));
}

/** `env -S 'rm -rf x'`, also in combined options and with more words. */
function findSplitString(arg: string, given: readonly string[], index: number): readonly string[] {
  const attached = /^(?:--split-string=|-[a-zA-Z]*?S)([\s\S]*)$/.exec(arg)?.[1];
  if (attached === undefined && !/^--s[a-z-]*$/.test(arg)) return [];
  return [[attached ?? "", ...given.slice(index + 1)].join(" ")];
}

/** `npm exec -- rm -rf x`, `npm x rm`, `yarn dlx x` */
function findPackageScripts(given: readonly string[]): readonly string[] {
  const verb = given.findIndex((arg) => !arg.startsWith("-"));
  if (!/^(?:exec|x|dlx|node)$/.test(given[verb] ?? "")) return [];
  return [
    given
      .slice(verb + 1)
      .filter((arg) => arg !== "--")
      .join(" "),
  ];
}

/** The recipes of a makefile on stdin, and the shell that it sets. */
function findRecipes(given: readonly string[], read: string): readonly string[] {
  const recipes = read.split("\n").map((line) => line.replace(/^[^\t:=]*:[^=;]*;?|^\s*[@+-]*/, ""));
  const texts = given.flatMap((arg) => /^(?:--eval=?|-E)([\s\S]*)$/.exec(arg)?.[1] ?? []);
  return [...recipes, ...texts, ...listSpacedTexts(given)].map((text) =>
    text.replace(/^[^:]*:\s*;?/, "").replace(/^\s*[@+-]*/, ""),
  );
}

/** `sh -c 'TEXT'`, `bash -lc 'TEXT'`, `bash -cx 'TEXT'`. */
function findScriptAfterC(given: readonly string[]): readonly string[] {
  const found = given.findIndex((arg) => /^[-+][a-zA-Z]*c[a-zA-Z]*$|^--command$/.test(arg));
  const attached = given.flatMap((arg) => /^--command=([\s\S]*)$/.exec(arg)?.[1] ?? []);
  if (found < 0) return attached;
  const text = given.slice(found + 1).find((arg) => !/^(?:[-+][a-zA-Z]*|--)$/.test(arg));
  return [...attached, text ?? ""];
}

/** `npm exec --call 'TEXT'`, `nix-shell --run 'TEXT'`, `nodemon -x 'TEXT'`. */
function findScriptAfterCall(given: readonly string[]): readonly string[] {
  return given.flatMap((arg, index) => {
    const value = /^--(?:call|run|exec|command|cmd|shell|execute)=([\s\S]*)$/.exec(arg)?.[1];
    if (value !== undefined) return [value];
    return /^(?:--(?:call|run|exec|command|cmd|execute)|-c|-x|-e)$/.test(arg) ? [given[index + 1] ?? ""] : [];
  });
}

/** Arguments of an unknown program that look like commands. */
function findRiskyTexts(given: readonly string[]): readonly string[] {
  return given.flatMap((arg) => {
    const text = arg.replace(/^--?[\w-]+=/, "");
    return /\s/.test(text) && isRisky(toProgramName(/^\s*(\S*)/.exec(text)?.[1] ?? "")) ? [text] : [];
  });
}

function isReadingScript(call: ProgramCall): boolean {
  const { flags, argTexts, isBatch } = call;
  if (argTexts.some((arg) => /^-[a-zA-Z]*c[a-zA-Z]*$|^--command/.test(arg))) return isBatch;
  const operand = findFirstOperand(argTexts, SHELL_VALUES);
  return operand === undefined || flags.has("s") || isStdinPath(operand);
}

/** Whether the program runs its input. */
export function isRunningInput(call: ProgramCall): boolean {
  const { program, operands, argTexts } = call;
  if (isShell(call)) return isReadingScript(call);
  if (program === "source" || program === ".") return isStdinPath(operands[0] ?? "");
  if (program === "make" || program === "gmake")
    return argTexts.some(
      (arg, at) =>
        /^-[a-zA-Z]*f-$|^--(?:make)?file=-$/.test(arg) ||
        (/^-[a-zA-Z]*f$/.test(arg) && isStdinPath(argTexts[at + 1] ?? "")),
    );
  if (program === "sed")
    return argTexts.some((arg, at) => arg === "-f" && isStdinPath(argTexts[at + 1] ?? ""));
  if (program === "parallel") return argTexts.every((arg) => arg.startsWith("-"));
  return isReadingCode(call);
}

/** The scripts whose output is run: `bash <(…)`, `sh -c "$(…)"`, `eval "$(…)"`. */
export function findRunOutputs(call: ProgramCall): readonly ShellScript[] {
  const { program, args, argTexts } = call;
  if (program === "eval") return args.flatMap(({ substitutions }) => substitutions);
  const isOne =
    isShell(call) || isInterpreter(program) || /^(?:source|\.|su|ssh|iex|invoke-expression)$/.test(program);
  if (!isOne) return [];
  const code = findCodeIndex(call);
  const operand = argTexts.findIndex((arg) => !/^[-+]/.test(arg));
  const last = Math.max(code === undefined ? -1 : code + 1, operand < 0 ? args.length : operand);
  return args.slice(0, last + 1).flatMap(({ substitutions }) => substitutions);
}

/** The arguments that are run as a script or code, and so must be known. */
export function findScriptWords(call: ProgramCall): readonly ShellWord[] {
  const { program, args, argTexts } = call;
  if (program === "eval") return args;
  const code = findCodeIndex(call);
  if (code !== undefined) return args.slice(code, code + 2);
  if (!isShell(call) && program !== "su") return [];
  const found = argTexts.findIndex((arg) => /^[-+][a-zA-Z]*c[a-zA-Z]*$|^--command$/.test(arg));
  return found < 0 ? [] : args.slice(found + 1, found + 2);
}
