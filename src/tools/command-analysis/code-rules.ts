import type { DangerRule, ProgramInput } from "./danger-rule.ts";
import { findCodeIndex, isAwk, isInterpreter, isReadingCode } from "./interpreters.ts";
import type { ProgramCall } from "./program-call.ts";
import { classifyWrite, isSecretPath } from "./sensitive-paths.ts";

const DELETES =
  /\b(?:rmtree|unlink(?:Sync|at)?|rmdir(?:Sync)?|removedirs|rm_rf?|rm_r|rmSync|remove_tree|remove_dir|delete_tree|truncate(?:Sync)?|removeSync|emptyDir(?:Sync)?|delete-directory|delete-file|send2trash)\b|\b(?:Dir|Pathname)\b[^;\n]{0,80}\.(?:delete|unlink|rmdir)\b|\.\s*rm\s*\(|\bos\s*\.\s*remove\b|\bfs\s*(?:\.\s*promises\s*)?\.\s*rm\b|\bFile\s*\.\s*delete\b|\bFileUtils\b|\bdo shell script\b/;
const RUNS =
  /\b(?:os\s*\.\s*(?:system|popen|exec\w*|spawn\w*)|subprocess|pty\s*\.\s*spawn|child_process|exec(?:Sync|File|FileSync)?|spawn(?:Sync)?|popen|shell_exec|passthru|proc_open|system|qx|syscall|Open3|posix_spawn\w*|create_subprocess_\w+|ctypes|cffi|pcntl_\w+|os\s*\.\s*execute|io\s*\.\s*popen|run_command|shell-command(?:-to-string)?|call-process|start-process|process\s*\.\s*binding|runpy|execute\s*\(|Runtime|ProcessBuilder|worker_threads|IO\s*\.\s*popen|Deno\s*\.\s*(?:Command|run)|Bun\s*\.\s*spawn)\b|%x[[{(]/;
const CONNECTS =
  /\b(?:sockets?|IO::Socket|TCPSocket|UDPSocket|fsockopen|net\s*\.\s*(?:connect|createConnection|Socket)|smtplib|ftplib|paramiko|telnetlib|urlopen|requests\s*\.\s*(?:post|put)|http\.client|XMLHttpRequest|fetch\s*\()/i;
/** Names that are computed at run time, so that no list contains them. */
const LOOKS_UP =
  /\b(?:__import__|getattr|__builtins__|__dict__|__class__|__subclasses__|globals\s*\(|Function\s*\(|vars\s*\(|locals\s*\(|importlib|import_module|constructor\s*[.[]|Reflect\s*\.|const_get|public_send|instance_variable_get|call_user_func\w*|create_function|loadstring|load\s*\(|method\s*\(\s*:)|\brequire\s*\(\s*(?!['"`][\w@/.:-]+['"`]\s*\))|\bimport\s*\(\s*(?!['"`][\w@/.:-]+['"`]\s*\))|\b(?:process|global|globalThis|module|window|fs|os)\s*\[|\.\s*send\s*\(|\$\w+\s*\(/;
const FORKS = /\bfork\b/;
const HIDES =
  /\b(?:b64decode|fromhex|unhexlify|frombase64|decode64|base64_decode|atob|codecs\s*\.\s*decode|rot13|__import__|getattr|zlib\s*\.\s*decompress|marshal\s*\.\s*loads|fromCharCode|unpack)\b|\bBuffer\s*\.\s*from\b|\bchr\s*\(/;
const EVALUATES = /\b(?:exec|eval|compile|Function|instance_eval|assert)\b/;

const PIPED = /\bopen\b[^;\n]{0,200}?['"]\s*(?:\||-\|?|\+<\|)|\bopen\b[^;\n]{0,200}?\|\s*['"]/;
/** `print | "sh"`, `"date" | getline`, `print |& cmd`; not the operator `||`. */
const AWK_RUNS = /(?<!\|)\|&?(?!\|)\s*(?:["(\w$]|getline)|@load|@include/;

/** Whether the code runs a computed text. */
function isEvaluating(code: string): boolean {
  return /\b(?:eval|exec|compile|Function|instance_eval|class_eval|vm\s*\.\s*run\w+)\s*[( ]\s*(?!['"])[\w$@(]/.test(
    code,
  );
}

/** Rules for inline code in other languages. Script files are not read. */
export const CODE_RULES: readonly DangerRule[] = [
  {
    kind: "fork-bomb",
    why: "starts copies of itself without end (fork bomb)",
    matches: (call, feed) => hasMatchingCode(call, feed, (code) => FORKS.test(code)),
  },
  {
    kind: "hidden-command",
    why: "runs code that is obfuscated or computed",
    matches: (call, feed) =>
      hasMatchingCode(
        call,
        feed,
        (code) =>
          (HIDES.test(code) && EVALUATES.test(code)) ||
          (!isAwk(call.program) && LOOKS_UP.test(code)) ||
          isEvaluating(code),
      ),
  },
  {
    kind: "secret",
    why: "reads keys, passwords or tokens",
    matches: (call, feed) => hasMatchingCode(call, feed, (code) => splitQuoted(code).some(isSecretPath)),
  },
  {
    kind: "code-deletes",
    why: "deletes or empties files with inline code",
    matches: (call, feed) => hasMatchingCode(call, feed, (code) => DELETES.test(code)),
  },
  {
    kind: "code-connects",
    why: "connects to other machines with inline code",
    matches: (call, feed) => hasMatchingCode(call, feed, (code) => CONNECTS.test(code)),
  },
  {
    kind: "code-runs",
    why: "runs other programs from inline code",
    matches: (call, feed) =>
      hasMatchingCode(call, feed, (code) => RUNS.test(code)) ||
      // In these languages, backticks run a command, and a quoted pipe opens a program.
      (/^(?:perl|ruby|php|julia|irb|raku)/.test(call.program) &&
        hasMatchingCode(call, feed, (code) => code.includes("`"))) ||
      (/^(?:perl|ruby|raku)/.test(call.program) && hasMatchingCode(call, feed, (code) => PIPED.test(code))) ||
      (/^(?:tclsh|expect|rscript|r|julia|guile|erl|elixir)$/.test(call.program) &&
        hasMatchingCode(call, feed, (code) => /\b(?:spawn|exec|run|shell|cmd)\b/.test(code))) ||
      (isAwk(call.program) && hasMatchingCode(call, feed, (code) => AWK_RUNS.test(code))),
  },
  {
    kind: "system-file",
    why: "changes system files",
    matches: (call, feed) =>
      hasMatchingCode(
        call,
        feed,
        (code) =>
          /write|append|['"][wa]b?\+?['"]|>/i.test(code) &&
          splitQuoted(code).some((path) => classifyWrite(path, false) !== undefined),
      ),
  },
];

function hasMatchingCode(call: ProgramCall, feed: ProgramInput, test: (code: string) => boolean): boolean {
  const code = findInlineCode(call, feed);
  return code !== undefined && test(code);
}

/** The code that an interpreter gets as an argument or as input. */
export function findInlineCode(call: ProgramCall, { text }: ProgramInput): string | undefined {
  const { program, argTexts, operands } = call;
  if (!isInterpreter(program)) return undefined;
  if (isAwk(program)) {
    const own = argTexts.filter((arg, at) => !/^-[fF]$/.test(arg) && argTexts[at - 1] !== "-f");
    return own.concat(isReadingCode(call) ? (text ?? "") : "").join("\n");
  }
  const found = findCodeIndex(call);
  // The text attached to the option, and all words after it.
  if (found !== undefined) return argTexts.slice(found).join("\n");
  return isReadingCode(call) || operands.length === 0 ? text : undefined;
}

function splitQuoted(code: string): readonly string[] {
  return code.split(/['"`]/);
}
