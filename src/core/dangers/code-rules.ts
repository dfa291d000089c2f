import type { Call } from "./call.ts";
import { isSecretPlace, writtenAt } from "./places.ts";
import type { Feed, Rule } from "./rule.ts";

/** By which option each language takes its program as a word. */
const LANGUAGES: Readonly<Record<string, RegExp | undefined>> = {
  python: /^-[a-zA-Z]*c/,
  pypy: /^-[a-zA-Z]*c/,
  perl: /^-[a-zA-Z]*[eE]/,
  ruby: /^-[a-zA-Z]*e/,
  node: /^(?:-[a-z]*[ep]|--eval|--print)/,
  nodejs: /^(?:-[a-z]*[ep]|--eval|--print)/,
  bun: /^(?:-e|--eval)/,
  deno: /^eval$/,
  php: /^-r/,
  lua: /^-e/,
  osascript: /^-e/,
  groovy: /^-e/,
  awk: /^/,
  gawk: /^/,
  mawk: /^/,
};
const PLAIN = ["awk", "gawk", "mawk"];

const DELETES =
  /\b(?:rmtree|unlink(?:Sync|at)?|rmdir(?:Sync)?|removedirs|rm_rf?|rm_r|rmSync|remove_tree|remove_dir|delete_tree|truncate(?:Sync)?)\b|\bos\s*\.\s*remove\b|\bfs\s*(?:\.\s*promises\s*)?\.\s*rm\b|\bFile\s*\.\s*delete\b|\bFileUtils\b|\bdo shell script\b/;
const RUNS =
  /\b(?:os\s*\.\s*(?:system|popen|exec\w*|spawn\w*)|subprocess|pty\s*\.\s*spawn|child_process|exec(?:Sync|File|FileSync)?|spawn(?:Sync)?|popen|shell_exec|passthru|proc_open|system|qx|Open3|IO\s*\.\s*popen|Deno\s*\.\s*(?:Command|run)|Bun\s*\.\s*spawn)\b|%x[[{(]/;
const CONNECTS =
  /\b(?:sockets?|IO::Socket|TCPSocket|UDPSocket|fsockopen|net\s*\.\s*(?:connect|createConnection|Socket)|smtplib|ftplib|paramiko|telnetlib|urlopen|requests\s*\.\s*(?:post|put)|http\.client|XMLHttpRequest|fetch\s*\()/i;
const FORKS = /\bfork\b/;
const HIDES =
  /\b(?:b64decode|fromhex|unhexlify|frombase64|decode64|base64_decode|atob|codecs\s*\.\s*decode|rot13|__import__|getattr|zlib\s*\.\s*decompress|marshal\s*\.\s*loads|fromCharCode|unpack)\b|\bBuffer\s*\.\s*from\b|\bchr\s*\(/;
const EVALUATES = /\b(?:exec|eval|compile|Function|instance_eval|assert)\b/;

/** Programs in other languages that stand in the command itself. Those in files are not looked at. */
export const CODE_RULES: readonly Rule[] = [
  {
    kind: "fork-bomb",
    why: "starts copies of itself until nothing else can run",
    is: (call, feed) => isIn(call, feed, (code) => FORKS.test(code)),
  },
  {
    kind: "hidden-command",
    why: "runs something that is written so that it cannot be read",
    is: (call, feed) => isIn(call, feed, (code) => HIDES.test(code) && EVALUATES.test(code)),
  },
  {
    kind: "secret",
    why: "reads keys, passwords or tokens",
    is: (call, feed) => isIn(call, feed, (code) => quotedIn(code).some(isSecretPlace)),
  },
  {
    kind: "code-deletes",
    why: "deletes or empties files by a program in another language",
    is: (call, feed) => isIn(call, feed, (code) => DELETES.test(code)),
  },
  {
    kind: "code-connects",
    why: "speaks with other machines by a program in another language",
    is: (call, feed) => isIn(call, feed, (code) => CONNECTS.test(code)),
  },
  {
    kind: "code-runs",
    why: "runs other programs from a program in another language",
    is: (call, feed) =>
      isIn(call, feed, (code) => RUNS.test(code)) ||
      // Between backticks, perl and ruby run what stands there.
      (/^(?:perl|ruby)/.test(call.program) && isIn(call, feed, (code) => code.includes("`"))),
  },
  {
    kind: "system-file",
    why: "changes files that belong to the system",
    is: (call, feed) =>
      isIn(
        call,
        feed,
        (code) =>
          /write|append|['"][wa]b?\+?['"]|>/i.test(code) &&
          quotedIn(code).some((path) => writtenAt(path, false) !== undefined),
      ),
  },
];

function isIn(call: Call, feed: Feed, test: (code: string) => boolean): boolean {
  const code = codeOf(call, feed);
  return code !== undefined && test(code);
}

/** The program that an interpreter is given as a word, or reads. */
export function codeOf({ program, given, operands }: Call, { text }: Feed): string | undefined {
  const name = program.replace(/[\d.]+$/, "");
  const option = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
  if (option === undefined) return undefined;
  if (PLAIN.includes(name)) return operands[0];
  const found = given.findIndex((arg) => option.test(arg));
  const isRead = found < 0 && (operands.length === 0 || operands[0] === "-");
  // All of it: what is attached to the option, and the words after it.
  return found >= 0 ? given.slice(found).join("\n") : isRead ? text : undefined;
}

function quotedIn(code: string): readonly string[] {
  return code.split(/['"`]/);
}
