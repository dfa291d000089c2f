import type { Call } from "./call.ts";
import { isElsewhere, isPostriders, isWide } from "./places.ts";
import { has, isLong, named, type Rule } from "./rule.ts";

const isRm = named("rm", "unlink", "grm", "gunlink");
const isMove = named("mv", "gmv");
const isWiping = named("shred", "srm", "truncate", "gtruncate", "wipe", "scrub", "sdelete", "fallocate");
const isMode = named("chmod", "gchmod");
const isOwner = named("chown", "chgrp", "gchown");
const WILD = /[*?[]/;

/** Files and folders that are gone afterwards. One file that is named, where the command runs, is not asked about. */
export const FILE_RULES: readonly Rule[] = [
  {
    kind: "postrider-data",
    why: "removes or changes Postrider's own data",
    is: (call) => CHANGES.has(call.program) && call.operands.some(isPostriders),
  },
  {
    kind: "recursive-delete",
    why: "deletes files and folders with everything in them",
    is: (call) =>
      (isRm(call) && has(call, "r", "R", "--recursive")) ||
      call.program === "rimraf" ||
      (/^(?:find|gfind|bfs)$/.test(call.program) && call.given.includes("-delete")) ||
      (call.program === "rsync" &&
        call.given.some((arg) => /^--de/.test(arg) || isLong(arg, "--remove-source-files"))) ||
      (/^(?:tar|gtar|bsdtar|zip)$/.test(call.program) &&
        (has(call, "--remove-files", "--recursive-unlink", "--unlink-first") ||
          (call.program === "zip" && (has(call, "m", "--move") || call.given.includes("-d"))))) ||
      (call.program === "cmake" && /^(?:rm|remove|remove_directory)$/.test(call.given[1] ?? "")) ||
      /^(?:rmtrash|trash-empty|trash-put|trash-rm|del-cli|trash|gio|deltree)$/.test(call.program) ||
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
      (isRm(call) && call.args.some(({ unknown, isSplit }) => unknown === "made" || isSplit)) ||
      (isMove(call) && call.operands.some((path) => path === "/dev/null" || isWide(path))) ||
      (isMove(call) && call.isForMany && call.operands.length < 2),
  },
  {
    kind: "wipe",
    why: "empties files, or overwrites them so that nothing brings them back",
    is: (call) =>
      isWiping(call) ||
      (/^(?:cp|gcp|install|dd|cat|tee|ln)$/.test(call.program) &&
        call.operands.length > 1 &&
        call.operands.slice(0, -1).some((path) => /^\/dev\/(?:null|zero|u?random|full)$/.test(path))),
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

function isOnWindows({ program, given }: Call): boolean {
  const words = given.map((arg) => arg.toLowerCase());
  if (program === "del" || program === "erase" || program === "rd" || program === "rmdir")
    return words.includes("/s");
  return (
    (program === "remove-item" || program === "ri") && words.some((arg) => /^-r(?:e|ec|ecurse)?$/.test(arg))
  );
}

function isInCloud({ program, operands, given, args }: Call): boolean {
  const [first = "", second = ""] = operands;
  if (program === "aws")
    return first === "s3" && (second === "rb" || (second === "rm" && given.includes("--recursive")));
  if (/^(?:gcloud|az|doctl|hcloud|linode-cli|oci|flyctl|fly|heroku)$/.test(program))
    return operands.some((word) => /^(?:delete|destroy|rm|remove)$|:destroy$/.test(word));
  if (program === "gsutil") return operands.includes("rm") || operands.includes("rb");
  if (program === "kubectl" || program === "oc")
    return /^(?:delete|drain|replace)$/.test(first) || operands.includes("delete");
  if (program === "terraform" || program === "tofu" || program === "pulumi")
    return first === "destroy" || given.some((arg) => /^--?destroy/.test(arg));
  if (/^(?:7z|7za|7zr)$/.test(program)) return first === "d" || given.includes("-sdel");
  if (program === "helm") return first === "uninstall" || first === "delete";
  if (program !== "docker" && program !== "podman") return false;
  const isMany = args.some(({ unknown }) => unknown === "made");
  if (/^(?:rm|rmi|kill|stop)$/.test(first)) return isMany;
  return second === "prune" || (first === "volume" && second === "rm");
}
