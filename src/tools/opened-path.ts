import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, opendir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { PostriderError } from "../core/errors.ts";
import { getFileErrorCode, toFileError } from "./file-error.ts";
import { type PinnedDirectory, pinDirectory } from "./pinned-directory.ts";

/** The object at a path. Only files and folders are opened, because opening a pipe or device may block or have effects. */
export type OpenedPath =
  | { readonly kind: "file"; readonly handle: FileHandle; readonly stats: Stats }
  | { readonly kind: "folder" }
  | { readonly kind: "missing" };

/** Follows no final link, and does not block on a pipe that replaced the file. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a real path for the duration of the callback. */
export async function withOpenedPath<T>(
  real: string,
  shown: string,
  use: (found: OpenedPath) => Promise<T>,
): Promise<T> {
  try {
    if (dirname(real) === real) return await use({ kind: "folder" });
    const folder = await pinDirectory(dirname(real)).catch(ignoreMissing);
    if (folder === undefined) return await use({ kind: "missing" });
    try {
      return await withOpenedEntry(folder, basename(real), shown, use);
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw toFileError(error, shown);
  }
}

async function withOpenedEntry<T>(
  folder: PinnedDirectory,
  name: string,
  shown: string,
  use: (found: OpenedPath) => Promise<T>,
): Promise<T> {
  const at = folder.entryPath(name);
  const before = await lstat(at).catch(ignoreMissing);
  if (before === undefined) return use({ kind: "missing" });
  if (before.isDirectory()) return use({ kind: "folder" });
  if (!before.isFile()) throw createNotAFileError(shown, before);
  const handle = await open(at, READ_FLAGS);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw createNotAFileError(shown, stats);
    return await use({ kind: "file", handle, stats });
  } finally {
    await handle.close();
  }
}

export interface FolderEntries {
  /** Sorted names; the name of a folder ends in a slash. */
  readonly names: readonly string[];
  /** Whether the folder has more entries. */
  readonly isTruncated: boolean;
}

/** Lists the names in a folder, up to a limit. */
export async function listFolderEntries(real: string, limit: number): Promise<FolderEntries> {
  const folder = await pinDirectory(real);
  try {
    const names: string[] = [];
    let isCut = false;
    for await (const entry of await opendir(folder.entryPath("."))) {
      isCut = names.length >= limit;
      if (isCut) break;
      names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
    }
    return { names: names.toSorted(), isTruncated: isCut };
  } finally {
    await folder.close();
  }
}

function ignoreMissing(error: unknown): undefined {
  if (getFileErrorCode(error) !== "ENOENT") throw error;
  return undefined;
}

function createNotAFileError(shown: string, stats: Stats): PostriderError {
  const is = stats.isFIFO()
    ? "a pipe"
    : stats.isSocket()
      ? "a socket"
      : stats.isSymbolicLink()
        ? "a link that was created just now"
        : "a device";
  return new PostriderError("not_allowed", `${shown} is ${is}, not a file.`);
}
