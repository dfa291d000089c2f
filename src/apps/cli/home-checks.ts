import { chmodSync, lstatSync, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import {
  type Finding,
  formatCount,
  reportFixable,
  reportOk,
  reportProblem,
  reportWarning,
} from "../../stores/sqlite/upkeep/findings.ts";
import { listDailyCopies } from "../daily-copies.ts";
import type { Home } from "../home.ts";
import { formatSize } from "./format-size.ts";

const OLDEST_NODE = 24;
const MIN_FREE_BYTES = 200e6;
const DAY_MS = 24 * 3600 * 1000;

export function checkNode(version: string): Finding {
  const found = `Node ${version}.`;
  return Number(version.replace(/^v/, "").split(".")[0]) >= OLDEST_NODE
    ? reportOk("node", found)
    : reportProblem("node", found, `Postrider needs Node ${OLDEST_NODE} or newer.`);
}

/** A backup or a migration needs free space for a second copy of the database. */
export function checkDiskSpace(home: Home): Finding {
  let folder = home.folder;
  while (statSync(folder, { throwIfNoEntry: false }) === undefined) folder = dirname(folder);
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const size = statSync(home.database, { throwIfNoEntry: false })?.size ?? 0;
  if (free > Math.max(MIN_FREE_BYTES, size)) return reportOk("disk_space", `${formatSize(free)} free.`);
  return reportWarning(
    "disk_space",
    `Only ${formatSize(free)} of disk space is free; the database has ${formatSize(size)}.`,
    "Free some space, or backups will fail.",
  );
}

/** Paths that other users of this machine can read, with their modes. */
function findExposed(path: string, depth = 0): { path: string; mode: number }[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isSymbolicLink() || found.isSocket()) return [];
  const own = (found.mode & 0o077) === 0 ? [] : [{ path, mode: found.mode & 0o777 }];
  if (!found.isDirectory() || depth > 8) return own;
  return [...own, ...readdirSync(path).flatMap((name) => findExposed(join(path, name), depth + 1))];
}

export function checkPermissions({ folder }: Home): Finding {
  const wrong = findExposed(folder);
  if (process.platform === "win32" || wrong.length === 0)
    return reportOk("permissions", "Only you can read this home.");
  const names = wrong
    .slice(0, 3)
    .map(({ path, mode }) => `${relative(folder, path) || folder} (${mode.toString(8)})`);
  return reportFixable(
    "permissions",
    `Other users of this machine can read ${names.join(", ")}${wrong.length > 3 ? ", …" : ""}.`,
  );
}

export function fixPermissions({ folder }: Home): string | undefined {
  const wrong = process.platform === "win32" ? [] : findExposed(folder);
  for (const { path, mode } of wrong) chmodSync(path, mode & 0o700);
  return wrong.length === 0
    ? undefined
    : `${formatCount(wrong.length, "file or folder", "files and folders")} made private.`;
}

export function checkCopies(home: Home, now: number): Finding {
  const newest = listDailyCopies(home).at(-1);
  if (newest === undefined)
    return reportOk("copies", "There is no daily copy yet; a running gateway creates them.");
  const days = Math.floor((now - newest.at) / DAY_MS);
  return days <= 7
    ? reportOk(
        "copies",
        `The newest daily copy is ${days <= 0 ? "of today" : `${formatCount(days, "day")} old`}.`,
      )
    : reportWarning(
        "copies",
        `The newest daily copy is ${days} days old.`,
        "To create one now: postrider backup FILE",
      );
}
