import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, opendir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { PostriderError } from "../core/errors.ts";
import { codeOf, fileFailure } from "./file-failure.ts";
import { type HeldFolder, holdFolder } from "./held-folder.ts";

/** What is at a path. Only files and folders are ever opened: a pipe or a device may wait for ever, or act. */
export type Found =
  | { readonly kind: "file"; readonly handle: FileHandle; readonly stats: Stats }
  | { readonly kind: "folder" }
  | { readonly kind: "missing" };

/** No link as the last step, and no waiting for the other end of a pipe that took the file's place. */
const TO_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Lets something be done with what is at this real path, which is opened for as long as that takes. */
export async function withFound<T>(
  real: string,
  shown: string,
  use: (found: Found) => Promise<T>,
): Promise<T> {
  try {
    if (dirname(real) === real) return await use({ kind: "folder" });
    const folder = await holdFolder(dirname(real)).catch(unlessMissing);
    if (folder === undefined) return await use({ kind: "missing" });
    try {
      return await withEntry(folder, basename(real), shown, use);
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw fileFailure(error, shown);
  }
}

async function withEntry<T>(
  folder: HeldFolder,
  name: string,
  shown: string,
  use: (found: Found) => Promise<T>,
): Promise<T> {
  const at = folder.at(name);
  const seen = await lstat(at).catch(unlessMissing);
  if (seen === undefined) return use({ kind: "missing" });
  if (seen.isDirectory()) return use({ kind: "folder" });
  if (!seen.isFile()) throw notAFile(shown, seen);
  const handle = await open(at, TO_READ);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAFile(shown, stats);
    return await use({ kind: "file", handle, stats });
  } finally {
    await handle.close();
  }
}

export interface Entries {
  /** In order; a folder's name ends in a slash. */
  readonly names: readonly string[];
  /** Whether there are more than were looked at. */
  readonly isCut: boolean;
}

/** The names in a folder, as many as somebody may want to read. */
export async function entriesOf(real: string, most: number): Promise<Entries> {
  const folder = await holdFolder(real);
  try {
    const names: string[] = [];
    let isCut = false;
    for await (const entry of await opendir(folder.at("."))) {
      isCut = names.length >= most;
      if (isCut) break;
      names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
    }
    return { names: names.toSorted(), isCut };
  } finally {
    await folder.close();
  }
}

function unlessMissing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
  return undefined;
}

function notAFile(shown: string, stats: Stats): PostriderError {
  const is = stats.isFIFO()
    ? "a pipe"
    : stats.isSocket()
      ? "a socket"
      : stats.isSymbolicLink()
        ? "a link that was put there just now"
        : "a device";
  return new PostriderError("not_allowed", `${shown} is ${is}, not a file.`);
}
