import { type DangerRule, hasFlag, isLongOption, matchPrograms } from "./danger-rule.ts";
import type { ProgramCall } from "./program-call.ts";
import { isBroadPath, isOutsideFolder, isPostriderPath } from "./sensitive-paths.ts";

const isRm = matchPrograms("rm", "unlink", "grm", "gunlink");
const isMove = matchPrograms("mv", "gmv");
const isWiping = matchPrograms(
  "shred",
  "srm",
  "truncate",
  "gtruncate",
  "wipe",
  "scrub",
  "sdelete",
  "fallocate",
);
const isMode = matchPrograms("chmod", "gchmod");
const isOwner = matchPrograms("chown", "chgrp", "gchown");
const WILD = /[*?[]/;

/** Rules for deletions. A single named file in the working directory needs no approval. */
export const FILE_RULES: readonly DangerRule[] = [
  {
    kind: "postrider-data",
    why: "deletes or changes Postrider's own data",
    matches: (call) => CHANGING_PROGRAMS.has(call.program) && call.operands.some(isPostriderPath),
  },
  {
    kind: "recursive-delete",
    why: "deletes files and folders with all their content",
    matches: (call) =>
      (isRm(call) && hasFlag(call, "r", "R", "--recursive")) ||
      call.program === "rimraf" ||
      (/^(?:find|gfind|bfs)$/.test(call.program) && call.argTexts.includes("-delete")) ||
      (call.program === "rsync" &&
        call.argTexts.some((arg) => /^--de/.test(arg) || isLongOption(arg, "--remove-source-files"))) ||
      (/^(?:tar|gtar|bsdtar|zip)$/.test(call.program) &&
        (hasFlag(call, "--remove-files", "--recursive-unlink", "--unlink-first") ||
          (call.program === "zip" && (hasFlag(call, "m", "--move") || call.argTexts.includes("-d"))))) ||
      (call.program === "cmake" && /^(?:rm|remove|remove_directory)$/.test(call.argTexts[1] ?? "")) ||
      /^(?:rmtrash|trash-empty|trash-put|trash-rm|del-cli|trash|gio|deltree)$/.test(call.program) ||
      (call.program === "rclone" && /^(?:purge|delete|sync)$/.test(call.operands[0] ?? "")) ||
      isWindowsDelete(call) ||
      isCloudDelete(call),
  },
  {
    kind: "delete",
    why: "deletes many files, or files outside its working folder",
    matches: (call) =>
      (isRm(call) &&
        (call.isBatch || call.operands.some((path) => WILD.test(path) || isOutsideFolder(path)))) ||
      (isRm(call) && call.args.some(({ unknown, isSplit }) => unknown === "made" || isSplit)) ||
      (isMove(call) && call.operands.some((path) => path === "/dev/null" || isBroadPath(path))) ||
      (isMove(call) && call.isBatch && call.operands.length < 2),
  },
  {
    kind: "wipe",
    why: "empties or overwrites files irreversibly",
    matches: (call) =>
      isWiping(call) ||
      (/^(?:cp|gcp|install|dd|cat|tee|ln)$/.test(call.program) &&
        call.operands.length > 1 &&
        call.operands.slice(0, -1).some((path) => /^\/dev\/(?:null|zero|u?random|full)$/.test(path))),
  },
  {
    kind: "permissions",
    why: "changes file permissions more widely than usual",
    matches: (call) => {
      const isRecursive = hasFlag(call, "R", "--recursive");
      const isFar = call.operands.some((path, index) => index > 0 && isBroadPath(path));
      if (isOwner(call)) return isFar || (isRecursive && call.operands.slice(1).some(isOutsideFolder));
      if (call.program === "setfacl" || call.program === "icacls") return isRecursive || isFar;
      if (!isMode(call)) return false;
      // A mode such as -x looks like an option.
      const isOpen = call.argTexts.some((mode) =>
        /^0*[0-7]?[0-7]{2}[2367]$|^[ug]*[ao][ugoa]*[+=][rxX]*w/.test(mode),
      );
      return isFar || (isRecursive && (isOpen || call.operands.includes("000")));
    },
  },
];

const CHANGING_PROGRAMS: ReadonlySet<string> = new Set([
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

function isWindowsDelete({ program, argTexts }: ProgramCall): boolean {
  const words = argTexts.map((arg) => arg.toLowerCase());
  if (program === "del" || program === "erase" || program === "rd" || program === "rmdir")
    return words.includes("/s");
  return (
    (program === "remove-item" || program === "ri") && words.some((arg) => /^-r(?:e|ec|ecurse)?$/.test(arg))
  );
}

function isCloudDelete({ program, operands, argTexts, args }: ProgramCall): boolean {
  const [first = "", second = ""] = operands;
  if (program === "aws")
    return first === "s3" && (second === "rb" || (second === "rm" && argTexts.includes("--recursive")));
  if (/^(?:gcloud|az|doctl|hcloud|linode-cli|oci|flyctl|fly|heroku)$/.test(program))
    return operands.some((word) => /^(?:delete|destroy|rm|remove)$|:destroy$/.test(word));
  if (program === "gsutil") return operands.includes("rm") || operands.includes("rb");
  if (program === "kubectl" || program === "oc")
    return /^(?:delete|drain|replace)$/.test(first) || operands.includes("delete");
  if (program === "terraform" || program === "tofu" || program === "pulumi")
    return first === "destroy" || argTexts.some((arg) => /^--?destroy/.test(arg));
  if (/^(?:7z|7za|7zr)$/.test(program)) return first === "d" || argTexts.includes("-sdel");
  if (program === "helm") return first === "uninstall" || first === "delete";
  if (program !== "docker" && program !== "podman") return false;
  const isMany = args.some(({ unknown }) => unknown === "made");
  if (/^(?:rm|rmi|kill|stop)$/.test(first)) return isMany;
  return second === "prune" || (first === "volume" && second === "rm");
}
