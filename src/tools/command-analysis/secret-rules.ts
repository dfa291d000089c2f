import { type DangerRule, isLongOption } from "./danger-rule.ts";
import type { ProgramCall } from "./program-call.ts";
import { findSedEffects } from "./sed-effects.ts";
import { canBeSecret } from "./sensitive-paths.ts";

/** Rules for keys, passwords and tokens in files and key stores. */
export const SECRET_RULES: readonly DangerRule[] = [
  {
    kind: "secret",
    why: "reads keys, passwords or tokens",
    matches: (call, _, cwds) =>
      findReadFiles(call).some((path) => canBeSecret(path, cwds)) || isAskingForSecrets(call),
  },
];

/** Programs that use file names but not their content, or that use a key for its purpose. */
const NOT_READING: ReadonlySet<string> = new Set(
  [
    "ls dir stat test [ [[ file tree du df find fd chmod chown chgrp touch mkdir rmdir rm unlink cd pushd popd",
    "ssh ssh-add ssh-keygen ssh-agent docker podman echo printf which type basename dirname realpath readlink",
    "source . export tee true false : trap for case man help alias set read unset kill postrider crontab",
  ].flatMap((line) => line.split(" ")),
);
const SEARCHERS: ReadonlySet<string> = new Set(
  "grep egrep fgrep zgrep rg ag ack ugrep sed gsed awk gawk mawk jq yq perl".split(" "),
);
const COPIERS: ReadonlySet<string> = new Set("cp gcp mv gmv install ln rsync scp".split(" "));
/** Subcommands that store or show names, not content. */
const GIT_NAMES =
  /^(?:add|check-ignore|status|log|rm|mv|ls-files|restore|checkout|reset|stash|commit|blame)$/;

/** The files that the program may read. */
function findReadFiles(call: ProgramCall): readonly string[] {
  const { program, operands, argTexts } = call;
  if (program === "dd") return argTexts.flatMap((arg) => (arg.startsWith("if=") ? [arg.slice(3)] : []));
  if (program === "git" && (GIT_NAMES.test(operands[0] ?? "") || operands[0] === undefined)) return [];
  if (NOT_READING.has(program)) return [];
  if (program === "sed" || program === "gsed")
    return [...findSearchedFiles(call), ...findSedEffects(call).reads];
  if (SEARCHERS.has(program)) return [...findSearchedFiles(call), ...findOptionValues(argTexts)];
  // The target of a copy is not read.
  const hasTarget = argTexts.some((arg) => /^-t/.test(arg) || isLongOption(arg, "--target-directory"));
  const files = COPIERS.has(program) && !hasTarget ? operands.slice(0, -1) : operands;
  return [...files, ...findOptionValues(argTexts)].map((path) => path.replace(/^[^@/]{0,64}@/, ""));
}

function findSearchedFiles({ operands, argTexts }: ProgramCall): readonly string[] {
  const isElsewhere = argTexts.some((arg) => /^-(?:[a-zA-Z]*[ef]|-regexp|-file|-expression)/.test(arg));
  return isElsewhere ? operands : operands.slice(1);
}

/** `--file=PATH`, `-fPATH`. An `--env-file` is not printed. */
function findOptionValues(given: readonly string[]): readonly string[] {
  return given.flatMap((arg) => {
    const [, name = "", value] = /^(--?[\w-]+)=([\s\S]*)$/.exec(arg) ?? [];
    if (value !== undefined) return name === "--env-file" ? [] : [value];
    return /^-[A-Za-z][/~.\w]/.test(arg) && !arg.startsWith("--") ? [arg.slice(2)] : [];
  });
}

function isAskingForSecrets({ program, operands, argTexts }: ProgramCall): boolean {
  const [first = "", second = ""] = operands;
  switch (program) {
    case "security":
      return /^(?:find-(?:generic|internet)-password|dump-keychain|export)$/.test(first);
    case "ssh-keygen":
      return argTexts.includes("-y") || argTexts.includes("-e");
    case "keepassxc-cli":
    case "bw":
    case "rbw":
    case "lpass":
      return /^(?:show|get|clip|export|list)$/.test(first);
    case "heroku":
      return first.startsWith("config");
    case "fly":
    case "flyctl":
    case "vercel":
      return first === "secrets" || (first === "env" && second === "pull") || first === "auth";
    case "npm":
      return (
        first === "token" || (first === "config" && second === "get" && /auth/i.test(argTexts.join(" ")))
      );
    case "docker":
      return first === "secret";
    case "git":
      return first === "credential";
    case "pass":
      return (
        first === "show" ||
        first === "grep" ||
        (first !== "" && !/^(?:ls|list|help|version|git|init)$/.test(first))
      );
    case "gpg":
    case "gpg2":
      return argTexts.some((arg) => arg.startsWith("--export-secret"));
    case "op":
      return first === "read" || (first === "item" && second === "get");
    case "kubectl":
      return first === "get" && /^secrets?(?:\/|$)/.test(second);
    case "vault":
      return first === "read" || (first === "kv" && second === "get");
    case "aws":
      return (
        (first === "secretsmanager" && second === "get-secret-value") ||
        (first === "configure" && second === "get")
      );
    case "gh":
      return first === "auth" && second === "token";
    case "gcloud":
      return first === "auth" && second.startsWith("print-");
    case "secret-tool":
      return first === "lookup" || first === "search";
    case "getent":
      return first === "shadow" || first === "gshadow";
    default:
      return /^(?:mimikatz|unshadow|john|hashcat|lazagne)$/.test(program);
  }
}
