import { type Call, startOf } from "./call.ts";
import { gitWords } from "./file-rules.ts";
import type { Feed } from "./rule.ts";
import type { Script, Word } from "./script.ts";

const SHELLS: ReadonlySet<string> = new Set([
  "sh",
  "bash",
  "zsh",
  "dash",
  "ksh",
  "mksh",
  "ash",
  "fish",
  "csh",
  "tcsh",
  "rbash",
  "yash",
]);
const SSH = { values: "i p l o F J L R D E b c m O S W B e I Q w", operands: 1 };
const DECODERS: ReadonlySet<string> = new Set([
  "uudecode",
  "rev",
  "tr",
  "gunzip",
  "zcat",
  "bunzip2",
  "bzcat",
  "unxz",
  "xzcat",
  "lzma",
  "zstdcat",
  "sed",
  "awk",
  "gawk",
  "perl",
  "python",
  "python3",
  "ruby",
  "node",
  "php",
  "cut",
  "hex2bin",
  "iconv",
  "nl",
  "sort",
  "tac",
  "fold",
]);

export function isShell({ program }: Call): boolean {
  return SHELLS.has(program);
}

/** The shell scripts that a call is given as words, or reads. */
export function scriptsIn(call: Call, feed: Feed): readonly string[] {
  const { program, given, operands } = call;
  if (isShell(call)) return [afterC(given), ...(isReadingScript(call) ? [feed.text ?? ""] : [])];
  switch (program) {
    case "eval":
      return [given.join(" ")];
    case "trap":
      return operands.slice(0, 1);
    case "alias":
      return given.map((arg) => arg.slice(arg.indexOf("=") + 1));
    case "su":
    case "script":
    case "flock":
    case "runuser":
      return [afterC(given)];
    case "ssh":
      return [given.slice(startOf(given, SSH)).join(" ")];
    case "watch":
      return [given.slice(startOf(given, { values: "n" })).join(" ")];
    case "env":
      return given.flatMap((arg, index) =>
        /^(?:-S|--split-string)$/.test(arg)
          ? [given[index + 1] ?? ""]
          : arg.startsWith("-S")
            ? [arg.slice(2)]
            : [],
      );
    case "tmux":
    case "screen":
    case "parallel":
      return given.filter((arg) => /\s/.test(arg));
    case "cmd":
      return /^\/[ck]$/i.test(given[0] ?? "") ? [given.slice(1).join(" ")] : [];
    case "pwsh":
    case "powershell":
      return given.flatMap((arg, index) =>
        /^-c(?:ommand)?$/i.test(arg) ? [given.slice(index + 1).join(" ")] : [],
      );
    case "git":
      return gitScripts(call);
    default:
      return [];
  }
}

function gitScripts(call: Call): readonly string[] {
  const aliases = call.given.flatMap((arg) => /^(?:alias\.[\w.-]+=)?!([\s\S]+)$/.exec(arg)?.[1] ?? []);
  const rest = gitWords(call);
  const after = rest.flatMap((arg, index) =>
    /^(?:--exec|-x|foreach|run|--tree-filter|--index-filter)$/.test(arg) ? [rest[index + 1] ?? ""] : [],
  );
  return [...aliases, ...after];
}

/** `sh -c 'TEXT'`, `bash -lc 'TEXT'`. */
function afterC(given: readonly string[]): string {
  const found = given.findIndex((arg) => /^-[a-zA-Z]*c$|^--command$/.test(arg));
  if (found < 0) return given.flatMap((arg) => /^--command=([\s\S]*)$/.exec(arg)?.[1] ?? []).join("\n");
  return given.slice(found + 1).find((arg) => !/^[-+][a-zA-Z]+$/.test(arg)) ?? "";
}

function isReadingScript(call: Call): boolean {
  const { flags, operands, isForMany } = call;
  if (flags.has("c") || flags.has("--command")) return isForMany;
  const [first] = operands;
  return first === undefined || flags.has("s") || first === "-" || first === "/dev/stdin";
}

/** Whether what it runs comes from the pipe before it. */
export function isRunningFeed(call: Call): boolean {
  return isShell(call)
    ? isReadingScript(call)
    : /^(?:source|\.)$/.test(call.program) && call.operands[0] === "/dev/stdin";
}

/** The scripts whose output it runs: `bash <(…)`, `sh -c "$(…)"`, `eval "$(…)"`. */
export function runOutputs({ program, args, ...call }: Call): readonly Script[] {
  const isOne =
    SHELLS.has(program) ||
    /^(?:eval|source|\.|su|ssh|python[\d.]*|perl|ruby|node|php|iex|invoke-expression)$/.test(program);
  if (!isOne) return [];
  const options = call.given.findIndex((arg) => !/^[-+]/.test(arg));
  const first: readonly Word[] =
    program === "eval" ? args : args.slice(0, options < 0 ? args.length : options + 1);
  return first.flatMap(({ inside }) => inside);
}

/** Whether what comes out of it is not what went in: nobody can tell from the command what that is. */
export function isChanging({ program, flags, operands, given }: Call): boolean {
  if (/^(?:g?base(?:32|64)|basenc)$/.test(program))
    return flags.has("d") || flags.has("D") || flags.has("--decode");
  if (program === "xxd") return flags.has("r");
  if (program === "openssl") return given.includes("-d") || given.includes("-decrypt");
  if (program === "gpg" || program === "age") return flags.has("d") || flags.has("--decrypt");
  if (program === "gzip" || program === "xz" || program === "bzip2" || program === "zstd")
    return flags.has("d");
  return DECODERS.has(program) && !(program === "tr" && operands.length === 0);
}
