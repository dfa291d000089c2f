import { chmodSync, lstatSync, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { count, type Finding, fine, fixable, problem, warning } from "../../stores/sqlite/upkeep/findings.ts";
import { dailyCopies } from "../daily-copies.ts";
import type { Home } from "../home.ts";
import { sizeText } from "./size-text.ts";

const OLDEST_NODE = 24;
const LITTLE_ROOM = 200e6;
const DAY_MS = 24 * 3600 * 1000;

export function checkNode(version: string): Finding {
  const found = `Node ${version}.`;
  return Number(version.replace(/^v/, "").split(".")[0]) >= OLDEST_NODE
    ? fine("node", found)
    : problem("node", found, `Postrider needs Node ${OLDEST_NODE} or newer.`);
}

/** There must be room for the database once more: that is what a copy or a new schema takes. */
export function checkRoom(home: Home): Finding {
  let folder = home.folder;
  while (statSync(folder, { throwIfNoEntry: false }) === undefined) folder = dirname(folder);
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const size = statSync(home.database, { throwIfNoEntry: false })?.size ?? 0;
  if (free > Math.max(LITTLE_ROOM, size)) return fine("disk_space", `${sizeText(free)} free.`);
  return warning(
    "disk_space",
    `Only ${sizeText(free)} free; the database takes ${sizeText(size)}.`,
    "Free some space, or copies will fail.",
  );
}

/** What others on this machine could look into: path and mode of each. */
function exposed(path: string, depth = 0): { path: string; mode: number }[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isSymbolicLink() || found.isSocket()) return [];
  const own = (found.mode & 0o077) === 0 ? [] : [{ path, mode: found.mode & 0o777 }];
  if (!found.isDirectory() || depth > 8) return own;
  return [...own, ...readdirSync(path).flatMap((name) => exposed(join(path, name), depth + 1))];
}

export function checkPermissions({ folder }: Home): Finding {
  const wrong = exposed(folder);
  if (process.platform === "win32" || wrong.length === 0)
    return fine("permissions", "Only you can look inside.");
  const names = wrong
    .slice(0, 3)
    .map(({ path, mode }) => `${relative(folder, path) || folder} (${mode.toString(8)})`);
  return fixable(
    "permissions",
    `Others on this machine may look into ${names.join(", ")}${wrong.length > 3 ? ", …" : ""}.`,
  );
}

export function fixPermissions({ folder }: Home): string | undefined {
  const wrong = process.platform === "win32" ? [] : exposed(folder);
  for (const { path, mode } of wrong) chmodSync(path, mode & 0o700);
  return wrong.length === 0
    ? undefined
    : `${count(wrong.length, "file or folder", "files and folders")} made private.`;
}

export function checkCopies(home: Home, now: number): Finding {
  const newest = dailyCopies(home).at(-1);
  if (newest === undefined) return fine("copies", "No daily copy yet; a running Postrider makes them.");
  const days = Math.floor((now - newest.at) / DAY_MS);
  return days <= 7
    ? fine("copies", `The newest daily copy is ${days <= 0 ? "of today" : `${count(days, "day")} old`}.`)
    : warning("copies", `The newest daily copy is ${days} days old.`, "postrider backup FILE makes one now.");
}
