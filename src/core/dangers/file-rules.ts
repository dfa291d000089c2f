import type { Call } from "./call.ts";
import { isElsewhere, isPostriders, isWide } from "./places.ts";
import { has, named, type Rule } from "./rule.ts";

const isRm = named("rm", "unlink", "grm");
const isMove = named("mv", "gmv");
const isMode = named("chmod", "gchmod");
const isOwner = named("chown", "chgrp", "gchown");
const WILD = /[*?[]/;

/** Files and folders that are gone afterwards. One file that is named, where the command runs, is not asked about. */
export const FILE_RULES: readonly Rule[] = [
  {
    kind: "postrider-data",
    why: "removes or changes Postrider's own data",
    is: (call) => isOwnCommand(call) || (CHANGES.has(call.program) && call.operands.some(isPostriders)),
  },
  {
    kind: "recursive-delete",
    why: "deletes files and folders with everything in them",
    is: (call) =>
      (isRm(call) && has(call, "r", "R", "--recursive")) ||
      call.program === "rimraf" ||
      (call.program === "find" && call.given.includes("-delete")) ||
      (call.program === "rsync" &&
        call.given.some((arg) => /^--(?:delete|del\b|remove-source-files)/.test(arg))) ||
      (call.program === "rclone" && /^(?:purge|delete|sync)$/.test(call.operands[0] ?? "")) ||
      isOnWindows(call) ||
      isInCloud(call),
  },
  {
    kind: "delete",
    why: "deletes many files, or files outside the folder it works in",
    is: (call) =>
      (isRm(call) &&
        (call.isForMany || call.operands.some((path) => WILD.test(path) || isElsewhere(path)))) ||
      (isRm(call) && call.args.some(({ text, inside }) => inside.length > 0 && text === "")) ||
      (isMove(call) && call.operands.some((path) => path === "/dev/null" || isWide(path))),
  },
  {
    kind: "wipe",
    why: "empties files, or overwrites them so that nothing brings them back",
    is: named("shred", "srm", "truncate", "wipe", "scrub", "sdelete"),
  },
  {
    kind: "version-control",
    why: "throws away work that version control does not bring back",
    is: isLossOfWork,
  },
  {
    kind: "permissions",
    why: "changes who may read, change or run files, more widely than is usual",
    is: (call) => {
      const isRecursive = has(call, "R", "--recursive");
      const isFar = call.operands.some((path, index) => index > 0 && isWide(path));
      if (isOwner(call)) return isFar || (isRecursive && call.operands.slice(1).some(isElsewhere));
      if (call.program === "setfacl" || call.program === "icacls") return isRecursive || isFar;
      if (!isMode(call)) return false;
      // A mode such as -x looks like an option.
      const isOpen = call.given.some((mode) =>
        /^0*[0-7]?[0-7]{2}[2367]$|^[ug]*[ao][ugoa]*[+=][rxX]*w/.test(mode),
      );
      return isFar || (isRecursive && (isOpen || call.operands.includes("000")));
    },
  },
];

const CHANGES: ReadonlySet<string> = new Set([
  "rm",
  "mv",
  "sqlite3",
  "chmod",
  "chown",
  "sed",
  "tar",
  "unlink",
  "rmdir",
]);

/** Only what takes something away for good. */
function isOwnCommand({ program, operands }: Call): boolean {
  if (program !== "postrider") return false;
  const [first = "", second = ""] = operands;
  return (
    /^(?:erase|restore|import|reset|uninstall)$/.test(first) ||
    (first === "sessions" && /^(?:remove|delete|rm|prune)$/.test(second))
  );
}

function isOnWindows({ program, given }: Call): boolean {
  const words = given.map((arg) => arg.toLowerCase());
  if (program === "del" || program === "erase" || program === "rd" || program === "rmdir")
    return words.includes("/s");
  return (
    (program === "remove-item" || program === "ri") && words.some((arg) => /^-r(?:e|ec|ecurse)?$/.test(arg))
  );
}

function isInCloud({ program, operands, given }: Call): boolean {
  const [first = "", second = ""] = operands;
  if (program === "aws")
    return first === "s3" && (second === "rb" || (second === "rm" && given.includes("--recursive")));
  if (program === "gsutil") return operands.includes("rm") || operands.includes("rb");
  if (program === "kubectl" || program === "oc") return operands.includes("delete");
  if (program === "terraform" || program === "tofu" || program === "pulumi") return first === "destroy";
  if (program === "helm") return first === "uninstall" || first === "delete";
  if (program !== "docker" && program !== "podman") return false;
  return second === "prune" || (first === "volume" && second === "rm");
}

function isLossOfWork(call: Call): boolean {
  if (call.program !== "git") return false;
  const [verb = "", ...rest] = gitWords(call);
  const letters = new Set(rest.filter((arg) => /^-[^-]/.test(arg)).flatMap((arg) => [...arg.slice(1, 33)]));
  const isForced = letters.has("f") || rest.includes("--force");
  switch (verb) {
    case "clean":
      return isForced && !letters.has("n") && !rest.includes("--dry-run");
    case "reset":
      return rest.includes("--hard") || rest.includes("--merge");
    case "checkout":
    case "switch":
      return isForced || rest.includes("--discard-changes") || (verb === "checkout" && rest.some(isAll));
    case "restore":
      return rest.some(isAll) && !(rest.includes("--staged") && !rest.includes("--worktree"));
    case "push":
      return (
        isForced ||
        letters.has("d") ||
        rest.some((arg) => /^--(?:force-with-lease|mirror|delete|prune)/.test(arg) || /^[+:]./.test(arg))
      );
    case "branch":
      return letters.has("D") || (isForced && (letters.has("d") || rest.includes("--delete")));
    case "stash":
      return rest[0] === "drop" || rest[0] === "clear";
    case "reflog":
      return rest[0] === "expire" || rest[0] === "delete";
    case "gc":
      return rest.includes("--prune=now") || rest.includes("--prune=all");
    case "update-ref":
      return letters.has("d");
    case "worktree":
      return rest[0] === "remove" && isForced;
    default:
      return verb === "filter-branch" || verb === "filter-repo";
  }
}

function isAll(path: string): boolean {
  return path === "." || path === "./" || path === "*" || path === ":/";
}

/** After the options of git itself. */
export function gitWords({ given }: Call): readonly string[] {
  let at = 0;
  while (at < given.length && (given[at] ?? "").startsWith("-"))
    at += /^-[Cc]$/.test(given[at] ?? "") ? 2 : 1;
  return given.slice(at);
}
