import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** Explains why a file or folder is not trusted: another user of this machine could change it. */
export function findTrustProblem(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return `${path} does not exist.`;
  // Windows has no such modes.
  return process.platform === "win32" ? undefined : checkOwnerAndMode(path, found);
}

function checkOwnerAndMode(path: string, { uid, mode }: Stats): string | undefined {
  const own = process.getuid?.() ?? uid;
  if (uid !== own && uid !== 0) return `${path} belongs to another user of this machine.`;
  if ((mode & 0o022) === 0) return undefined;
  return `Other users of this machine can change ${path}, and so the code that runs. Run: chmod go-w ${path}`;
}

/** Throws a sentence unless the file, its real path and the folder of that can be trusted. */
export function assertTrusted(path: string): void {
  const reason =
    findTrustProblem(path) ??
    findTrustProblem(realpathSync(path)) ??
    findTrustProblem(dirname(realpathSync(path)));
  if (reason !== undefined) throw new Error(reason);
}
