import { type Call, programIn } from "./call.ts";
import { gitScripts } from "./git-rules.ts";
import { findCode, firstOperand, isInput, isInterpreter, isReadingCode } from "./interpreters.ts";
import type { Feed } from "./rule.ts";
import type { Script, Word } from "./script.ts";
import { isKnownNotToRun, isRisky, startOf } from "./starters.ts";

const SHELLS: ReadonlySet<string> = new Set(
  "sh bash zsh dash ksh ksh93 mksh ash fish csh tcsh rbash rzsh yash posh elvish nu xonsh".split(" "),
);
const SSH = { values: "i p l o F J L R D E b c m O S W B e I Q w", operands: 1 };
const SHELL_VALUES = "o O rcfile -rcfile -init-file";

export function isShell({ program }: Pick<Call, "program">): boolean {
  return SHELLS.has(program);
}

/** The shell scripts that a call is given as words, or reads. Unknown parts of them are marked. */
export function findScripts(call: Call, feed: Feed): readonly string[] {
  const { program, operands } = call;
  const given = call.args.map(({ text, marked }) => marked ?? text);
  const read = feed.text ?? "";
  if (isShell(call)) return [...afterC(given), read];
  switch (program) {
    case "eval":
      return [given.join(" ")];
    case "source":
    case ".":
      return isInput(operands[0] ?? "") ? [read] : [];
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
      return [given.slice(startOf(call.given, SSH)).join(" "), read];
    case "watch":
      return [given.slice(startOf(call.given, { values: "n -interval" })).join(" ")];
    case "env":
      return given.flatMap((arg, index) => splitString(arg, given, index));
    case "cmd":
      return /^\/[ck]$/i.test(given[0] ?? "") ? [given.slice(1).join(" ")] : [];
    case "pwsh":
    case "powershell":
      return given.flatMap((arg, index) =>
        /^-c(?:ommand)?$/i.test(arg) ? [given.slice(index + 1).join(" ")] : [],
      );
    case "parallel":
      return [...spaced(given), given.every((arg) => arg.startsWith("-")) ? read : ""];
    case "tmux":
    case "screen":
      return spaced(given);
    case "npm":
    case "pnpm":
    case "yarn":
      return [...packageScripts(given), ...afterCall(given)];
    case "make":
    case "gmake":
      return recipesIn(given, read);
    case "git":
      return gitScripts(call);
    default:
      return isKnownNotToRun(program) && !/^(?:flock|runuser|npx|su|xargs|entr|sudo|doas)$/.test(program)
        ? []
        : [...afterC(given), ...afterCall(given), ...riskyTexts(given)];
  }
}

function spaced(given: readonly string[]): readonly string[] {
  return given.filter((arg) => /\s/.test(arg));
}

/** `env -S 'rm -rf x'`, also among other letters, and with more words behind. */
function splitString(arg: string, given: readonly string[], index: number): readonly string[] {
  const attached = /^(?:--split-string=|-[a-zA-Z]*?S)([\s\S]*)$/.exec(arg)?.[1];
  if (attached === undefined && !/^--s[a-z-]*$/.test(arg)) return [];
  return [[attached ?? "", ...given.slice(index + 1)].join(" ")];
}

/** `npm exec -- rm -rf x`, `npm x rm`, `yarn dlx x` */
function packageScripts(given: readonly string[]): readonly string[] {
  const verb = given.findIndex((arg) => !arg.startsWith("-"));
  if (!/^(?:exec|x|dlx|node)$/.test(given[verb] ?? "")) return [];
  return [
    given
      .slice(verb + 1)
      .filter((arg) => arg !== "--")
      .join(" "),
  ];
}

/** What a makefile that is read from the input has as recipes, and what is set as the shell. */
function recipesIn(given: readonly string[], read: string): readonly string[] {
  const recipes = read.split("\n").map((line) => line.replace(/^[^\t:=]*:[^=;]*;?|^\s*[@+-]*/, ""));
  const texts = given.flatMap((arg) => /^(?:--eval=?|-E)([\s\S]*)$/.exec(arg)?.[1] ?? []);
  return [...recipes, ...texts, ...spaced(given)].map((text) =>
    text.replace(/^[^:]*:\s*;?/, "").replace(/^\s*[@+-]*/, ""),
  );
}

/** `sh -c 'TEXT'`, `bash -lc 'TEXT'`, `bash -cx 'TEXT'`. */
function afterC(given: readonly string[]): readonly string[] {
  const found = given.findIndex((arg) => /^[-+][a-zA-Z]*c[a-zA-Z]*$|^--command$/.test(arg));
  const attached = given.flatMap((arg) => /^--command=([\s\S]*)$/.exec(arg)?.[1] ?? []);
  if (found < 0) return attached;
  const text = given.slice(found + 1).find((arg) => !/^(?:[-+][a-zA-Z]*|--)$/.test(arg));
  return [...attached, text ?? ""];
}

/** `npm exec --call 'TEXT'`, `nix-shell --run 'TEXT'`, `nodemon -x 'TEXT'`. */
function afterCall(given: readonly string[]): readonly string[] {
  return given.flatMap((arg, index) => {
    const value = /^--(?:call|run|exec|command|cmd|shell|execute)=([\s\S]*)$/.exec(arg)?.[1];
    if (value !== undefined) return [value];
    return /^(?:--(?:call|run|exec|command|cmd|execute)|-c|-x|-e)$/.test(arg) ? [given[index + 1] ?? ""] : [];
  });
}

/** Words of an unknown program that look like commands. */
function riskyTexts(given: readonly string[]): readonly string[] {
  return given.flatMap((arg) => {
    const text = arg.replace(/^--?[\w-]+=/, "");
    return /\s/.test(text) && isRisky(programIn(/^\s*(\S*)/.exec(text)?.[1] ?? "")) ? [text] : [];
  });
}

function isReadingScript(call: Call): boolean {
  const { flags, given, isForMany } = call;
  if (given.some((arg) => /^-[a-zA-Z]*c[a-zA-Z]*$|^--command/.test(arg))) return isForMany;
  const operand = firstOperand(given, SHELL_VALUES);
  return operand === undefined || flags.has("s") || isInput(operand);
}

/** Whether what it runs comes from what it reads. */
export function isRunningFeed(call: Call): boolean {
  const { program, operands, given } = call;
  if (isShell(call)) return isReadingScript(call);
  if (program === "source" || program === ".") return isInput(operands[0] ?? "");
  if (program === "make" || program === "gmake")
    return given.some(
      (arg, at) =>
        /^-[a-zA-Z]*f-$|^--(?:make)?file=-$/.test(arg) ||
        (/^-[a-zA-Z]*f$/.test(arg) && isInput(given[at + 1] ?? "")),
    );
  if (program === "sed") return given.some((arg, at) => arg === "-f" && isInput(given[at + 1] ?? ""));
  if (program === "parallel") return given.every((arg) => arg.startsWith("-"));
  return isReadingCode(call);
}

/** The scripts whose output it runs: `bash <(…)`, `sh -c "$(…)"`, `eval "$(…)"`. */
export function findRunOutputs(call: Call): readonly Script[] {
  const { program, args, given } = call;
  if (program === "eval") return args.flatMap(({ inside }) => inside);
  const isOne =
    isShell(call) || isInterpreter(program) || /^(?:source|\.|su|ssh|iex|invoke-expression)$/.test(program);
  if (!isOne) return [];
  const code = findCode(call);
  const operand = given.findIndex((arg) => !/^[-+]/.test(arg));
  const last = Math.max(code === undefined ? -1 : code + 1, operand < 0 ? args.length : operand);
  return args.slice(0, last + 1).flatMap(({ inside }) => inside);
}

/** The words that are run as a script or as code, in which nothing may be unknown. */
export function findScriptWords(call: Call): readonly Word[] {
  const { program, args, given } = call;
  if (program === "eval") return args;
  const code = findCode(call);
  if (code !== undefined) return args.slice(code, code + 2);
  if (!isShell(call) && program !== "su") return [];
  const found = given.findIndex((arg) => /^[-+][a-zA-Z]*c[a-zA-Z]*$|^--command$/.test(arg));
  return found < 0 ? [] : args.slice(found + 1, found + 2);
}
