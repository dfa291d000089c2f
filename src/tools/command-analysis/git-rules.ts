import { type DangerRule, isLongOption } from "./danger-rule.ts";
import type { ProgramCall } from "./program-call.ts";

/** Rules for irreversible git commands, and for programs that git runs through options and settings. */
export const GIT_RULES: readonly DangerRule[] = [
  {
    kind: "version-control",
    why: "discards work that git cannot restore",
    matches: (call) => call.program === "git" && isLossOfWork(call),
  },
  {
    kind: "runs-program",
    why: "makes a program run another program through an option or a setting",
    matches: (call) => call.program === "git" && isRunningPrograms(call),
  },
];

function isLossOfWork(call: ProgramCall): boolean {
  const [verb = "", ...rest] = getGitWords(call);
  const letters = new Set(rest.filter((arg) => /^-[^-]/.test(arg)).flatMap((arg) => [...arg.slice(1, 33)]));
  const isAny = (...names: readonly string[]): boolean => rest.some((arg) => isLongOption(arg, ...names));
  const isForced = letters.has("f") || isAny("--force");
  switch (verb) {
    case "clean":
      return (isForced || isUnforced(call)) && !letters.has("n") && !isAny("--dry-run");
    case "reset":
      return isAny("--hard", "--merge", "--keep");
    case "checkout":
    case "switch":
      return (
        isForced ||
        isAny("--discard-changes") ||
        letters.has("B") ||
        letters.has("C") ||
        (verb === "checkout" && rest.some(isAllFiles))
      );
    case "checkout-index":
      return isForced || letters.has("a");
    case "read-tree":
      return letters.has("u") || isAny("--reset");
    case "restore":
      return rest.some(isAllFiles) && !(isAny("--staged") && !isAny("--worktree"));
    case "rm":
      return isForced;
    case "push":
      return (
        isForced ||
        letters.has("d") ||
        isAny("--force-with-lease", "--mirror", "--delete", "--prune", "--force-if-includes") ||
        rest.some((arg) => /^[+:]./.test(arg))
      );
    case "branch":
      return letters.has("D") || letters.has("M") || (isForced && (letters.has("d") || isAny("--delete")));
    case "tag":
      return letters.has("d") || isAny("--delete");
    case "stash":
      return rest[0] === "drop" || rest[0] === "clear";
    case "reflog":
      return rest[0] === "expire" || rest[0] === "delete";
    case "gc":
      return rest.some((arg) => /^--prune=(?:now|all)/.test(arg));
    case "update-ref":
      return letters.has("d") || isAny("--stdin");
    case "worktree":
      return rest[0] === "remove" && isForced;
    case "remote":
      return rest[0] === "remove" || rest[0] === "rm" || rest[0] === "prune";
    case "submodule":
      return rest[0] === "deinit" && isForced;
    default:
      return /^(?:filter-branch|filter-repo|prune|replace|fast-import)$/.test(verb);
  }
}

function isUnforced({ argTexts }: ProgramCall): boolean {
  return argTexts.some((arg) => /clean\.requireforce=(?:false|0|no)/i.test(arg));
}

function isAllFiles(path: string): boolean {
  return path === "." || path === "./" || path === "*" || path === ":/" || path === ":/*" || path === ":";
}

/** The subcommand, after the options of git itself. */
export function getGitWords({ argTexts }: ProgramCall): readonly string[] {
  let at = 0;
  while (at < argTexts.length && (argTexts[at] ?? "").startsWith("-"))
    at += /^(?:-[Cc]|--(?:git-dir|work-tree|namespace|exec-path|config-env|super-prefix|attr-source))$/.test(
      argTexts[at] ?? "",
    )
      ? 2
      : 1;
  return argTexts.slice(at);
}

/** Settings whose value is a program or names one. */
const RUNNING_SETTINGS =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand|worktree)|alias\.|pager\.|(?:diff|merge)\.(?:external|tool|guitool)|(?:diff|merge|filter|difftool|mergetool|browser|man|guitool)\..*\.(?:command|cmd|textconv|driver|clean|smudge|process|path)|credential(?:\..*)?\.helper|gpg(?:\..*)?\.program|sequence\.editor|interactive\.difffilter|uploadpack\.|receive\.|remote\..*\.(?:uploadpack|receivepack|vcs|proxy)|protocol\..*allow|include|init\.templatedir|submodule\..*\.update|sendemail\.|trailer\..*|tar\..*\.command|web\.browser|instaweb\.|url\..*\.insteadof|ssh\.variant|http\.(?:sslverify|proxy))/i;
const PLAIN_VALUE =
  /^(?:|cat|less(?: -[A-Za-z]+)?|more|true|false|:|vim?|nano|emacs|delta|never|always|auto|\d+)$/;

function isRunningSetting(key: string, value: string): boolean {
  if (!RUNNING_SETTINGS.test(key)) return false;
  if (/^alias\./i.test(key)) return value.startsWith("!") || /(?:^|\s)-c\s/.test(value);
  return !PLAIN_VALUE.test(value);
}

function isRunningPrograms(call: ProgramCall): boolean {
  const { argTexts } = call;
  const own = argTexts.slice(0, argTexts.length - getGitWords(call).length);
  const settings = own.flatMap((arg, at) =>
    arg === "-c" ? [own[at + 1] ?? ""] : /^-c./.test(arg) ? [arg.slice(2)] : [],
  );
  if (settings.some((text) => isRunningSettingText(text))) return true;
  if (own.some((arg) => isLongOption(arg, "--config-env") || /^--exec-path=/.test(arg))) return true;
  const [verb = "", ...rest] = getGitWords(call);
  if (argTexts.some((arg) => /^ext::/i.test(arg))) return true;
  if (verb === "config") return isSettingProgram(rest);
  if (
    rest.some(
      (arg, at) =>
        (arg === "-c" || arg === "--config") && isRunningSettingText(rest[at + 1] ?? "") && verb !== "grep",
    )
  )
    return true;
  if (
    rest.some(
      (arg) =>
        isLongOption(
          arg,
          "--upload-pack",
          "--receive-pack",
          "--extcmd",
          "--open-files-in-pager",
          "--template",
          "--tree-filter",
          "--remote-helper",
          "--ext-diff",
          "--textconv",
        ) &&
        arg.length > 5 &&
        /^(?:clone|fetch|pull|push|ls-remote|fetch-pack|send-pack|difftool|grep|init|archive)$/.test(verb),
    )
  )
    return true;
  if (verb === "push" || verb === "archive") if (rest.some((arg) => isLongOption(arg, "--exec"))) return true;
  if (/^(?:clone|ls-remote|fetch|init)$/.test(verb) && rest.some((arg) => /^-u./.test(arg) || arg === "-u"))
    return verb !== "fetch";
  if (verb === "grep") return rest.some((arg) => /^-O/.test(arg));
  if (verb === "difftool") return rest.some((arg) => /^-x/.test(arg));
  return /^(?:daemon|shell|instaweb|for-each-repo|hook|upload-pack|receive-pack|send-email|credential)$/.test(
    verb,
  );
}

function isRunningSettingText(text: string): boolean {
  const [key = "", value = ""] = text.split(/=(.*)/s);
  return isRunningSetting(key, value);
}

/** `git config [set] KEY VALUE` in any scope. Reading a setting needs no approval. */
function isSettingProgram(rest: readonly string[]): boolean {
  if (rest.some((arg) => isLongOption(arg, "--edit") || arg === "-e" || arg === "edit")) return true;
  const words = rest.filter(
    (arg, at) => !arg.startsWith("-") && !/^(?:-f|--file|--type|--blob)$/.test(rest[at - 1] ?? ""),
  );
  if (words[0] === "set" || words[0] === "add") words.shift();
  if (words[0] === "get" || words[0] === "list" || words[0] === "unset") return false;
  return words.length > 1 && isRunningSetting(words[0] ?? "", words[1] ?? "");
}

/** One word is a script; several words are quoted one by one. */
function joinWords(words: readonly string[]): string {
  if (words.length === 1) return words[0] ?? "";
  return words.map((word) => (/\s/.test(word) ? `'${word.replaceAll("'", "'\\''")}'` : word)).join(" ");
}

/** The shell scripts in the arguments of git. */
export function findGitScripts(call: ProgramCall): readonly string[] {
  const aliases = call.argTexts.flatMap(
    (arg) => /^(?:(?:-c)?alias\.[\w.-]+=)?!([\s\S]+)$/.exec(arg)?.[1] ?? [],
  );
  const rest = getGitWords(call);
  const after = rest.flatMap((arg, index) => {
    const value =
      /^(?:--exec|-x|--(?:tree|index|msg|env|commit|parent|tag-name)-filter)(?:=([\s\S]*))?$/.exec(arg);
    if (value !== null) return [value[1] ?? rest[index + 1] ?? ""];
    if (/^-x./.test(arg)) return [arg.slice(2)];
    return arg === "foreach" || arg === "run"
      ? [joinWords(rest.slice(index + 1).filter((one) => !/^(?:--recursive|--quiet|-q)$/.test(one)))]
      : [];
  });
  return [...aliases, ...after];
}
