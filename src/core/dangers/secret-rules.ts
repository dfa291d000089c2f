import type { Call } from "./call.ts";
import { isSecretPlace } from "./places.ts";
import type { Rule } from "./rule.ts";

/** Keys, passwords and tokens: read from where they are kept, or asked of whatever keeps them. */
export const SECRET_RULES: readonly Rule[] = [
  {
    kind: "secret",
    why: "reads keys, passwords or tokens",
    is: (call) => readBy(call).some(isSecretPlace) || isAskingForSecrets(call),
  },
];

const READERS: ReadonlySet<string> = new Set([
  "cat",
  "tac",
  "head",
  "tail",
  "less",
  "more",
  "nl",
  "bat",
  "strings",
  "xxd",
  "od",
  "hexdump",
  "base64",
  "base32",
  "gzip",
  "bzip2",
  "xz",
  "zstd",
  "tar",
  "zip",
  "7z",
  "cp",
  "mv",
  "install",
  "ln",
  "rsync",
  "scp",
  "dd",
  "diff",
  "cmp",
  "paste",
  "sort",
  "uniq",
  "cut",
  "rev",
  "fold",
  "split",
  "vi",
  "vim",
  "nano",
  "emacs",
  "view",
  "code",
  "open",
  "xdg-open",
  "pr",
  "column",
  "gpg",
  "age",
  "openssl",
  "sqlite3",
  "hash-object",
  "curl",
  "wget",
  "nc",
  "python",
  "mail",
  "mutt",
  "sftp",
  "tee",
  "dotenv",
  "pbcopy",
  "xclip",
  "ssh-copy-id",
]);
const SEARCHERS: ReadonlySet<string> = new Set([
  "grep",
  "egrep",
  "fgrep",
  "zgrep",
  "rg",
  "ag",
  "ack",
  "sed",
  "awk",
  "gawk",
  "mawk",
  "jq",
  "yq",
  "perl",
]);
const COPIERS: ReadonlySet<string> = new Set(["cp", "mv", "install", "ln", "rsync", "scp", "tee"]);

/** The files whose content it takes in. */
function readBy({ program, operands, given }: Call): readonly string[] {
  if (SEARCHERS.has(program)) {
    const isElsewhere = given.some((arg) => /^-(?:e|f|-regexp|-file|-expression)/.test(arg));
    return isElsewhere ? operands : operands.slice(1);
  }
  if (program === "dd") return given.flatMap((arg) => (arg.startsWith("if=") ? [arg.slice(3)] : []));
  if (!READERS.has(program)) return [];
  // What is copied to such a place is not read from it.
  if (program === "tee") return [];
  const files =
    COPIERS.has(program) && !given.some((arg) => /^(?:-t|--target-directory)/.test(arg))
      ? operands.slice(0, -1)
      : operands;
  // `curl -F f=@FILE`, `curl -d @FILE`, `curl file:///…`
  return files.map((path) => path.replace(/^[^@/]{0,64}@/, ""));
}

function isAskingForSecrets({ program, operands, given }: Call): boolean {
  const [first = "", second = ""] = operands;
  switch (program) {
    case "security":
      return /^(?:find-(?:generic|internet)-password|dump-keychain|export)$/.test(first);
    case "pass":
      return (
        first === "show" ||
        first === "grep" ||
        (first !== "" && !/^(?:ls|list|help|version|git|init)$/.test(first))
      );
    case "gpg":
    case "gpg2":
      return given.some((arg) => arg.startsWith("--export-secret"));
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
