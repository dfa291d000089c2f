import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** Why this file or folder must not decide what we run: another on this machine could have changed it. */
export function findTrustProblem(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return `There is no ${path}.`;
  // Windows keeps this elsewhere, and gives modes that say nothing.
  return process.platform === "win32" ? undefined : checkOwnerAndMode(path, found);
}

function checkOwnerAndMode(path: string, { uid, mode }: Stats): string | undefined {
  const own = process.getuid?.() ?? uid;
  if (uid !== own && uid !== 0) return `${path} belongs to another user of this machine.`;
  if ((mode & 0o022) === 0) return undefined;
  return `Others on this machine may change ${path}, and so what is run. Close it: chmod go-w ${path}`;
}

/** Throws a sentence unless the file, its real path and the folder of that can be trusted. */
export function assertTrusted(path: string): void {
  const reason =
    findTrustProblem(path) ??
    findTrustProblem(realpathSync(path)) ??
    findTrustProblem(dirname(realpathSync(path)));
  if (reason !== undefined) throw new Error(reason);
}
