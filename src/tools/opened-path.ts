import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, opendir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { PostriderError } from "../core/errors.ts";
import { getFileErrorCode, toFileError } from "./file-error.ts";
import { type PinnedDirectory, pinDirectory } from "./pinned-directory.ts";

/** What is at a path. Only files and folders are ever opened: a pipe or a device may wait for ever, or act. */
export type OpenedPath =
  | { readonly kind: "file"; readonly handle: FileHandle; readonly stats: Stats }
  | { readonly kind: "folder" }
  | { readonly kind: "missing" };

/** No link as the last step, and no waiting for the other end of a pipe that took the file's place. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Lets something be done with what is at this real path, which is opened for as long as that takes. */
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
  const seen = await lstat(at).catch(ignoreMissing);
  if (seen === undefined) return use({ kind: "missing" });
  if (seen.isDirectory()) return use({ kind: "folder" });
  if (!seen.isFile()) throw createNotAFileError(shown, seen);
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
  /** In order; a folder's name ends in a slash. */
  readonly names: readonly string[];
  /** Whether there are more than were looked at. */
  readonly isTruncated: boolean;
}

/** The names in a folder, as many as somebody may want to read. */
export async function listFolderEntries(real: string, most: number): Promise<FolderEntries> {
  const folder = await pinDirectory(real);
  try {
    const names: string[] = [];
    let isCut = false;
    for await (const entry of await opendir(folder.entryPath("."))) {
      isCut = names.length >= most;
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
        ? "a link that was put there just now"
        : "a device";
  return new PostriderError("not_allowed", `${shown} is ${is}, not a file.`);
}
