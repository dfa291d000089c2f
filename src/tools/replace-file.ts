import { constants, type Stats } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, rename, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { PostriderError } from "../core/errors.ts";
import type { AllowedPath } from "./allowed-path.ts";
import { getFileErrorCode, toFileError } from "./file-error.ts";
import { type PinnedDirectory, pinDirectory } from "./pinned-directory.ts";
import { buildTemporaryFileName, sweepTemporary } from "./sweep-temporary.ts";

export interface FileReplacement {
  readonly to: AllowedPath;
  /** As it is told. */
  readonly displayPath: string;
  readonly bytes: Uint8Array;
  /** Refused if the file is no longer the one that was read. */
  readonly expected?: Pick<Stats, "ino" | "mtimeMs" | "size">;
  random(bytes: number): Uint8Array;
  readonly signal: AbortSignal;
}

/** The user's own mask decides, as for any program. */
const FILE_MODE = 0o666;

/**
 * The file has these bytes: all of them, on the disk, or it is as it was. One that was there keeps its mode, and its owner
 * where that may be kept; a further hard link to it keeps the old bytes.
 */
export async function replaceFile(replacing: FileReplacement): Promise<void> {
  const { to, displayPath } = replacing;
  try {
    await mkdir(dirname(to.realPath), { recursive: true });
    // Whatever happened to the name since it was looked at: only the folder that was meant is held.
    const folder = await pinDirectory(dirname(to.realPath));
    try {
      await replaceEntry(folder, basename(to.realPath), replacing);
      // The file is written; a folder that cannot be listed is no reason to say otherwise.
      await sweepTemporary(dirname(to.realPath), folder.entryPath(""), Date.now()).catch(() => {});
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw toFileError(error, displayPath);
  }
}

async function replaceEntry(
  folder: PinnedDirectory,
  name: string,
  replacing: FileReplacement,
): Promise<void> {
  const { displayPath, bytes, random, signal } = replacing;
  const target = folder.entryPath(name);
  const old = await findWritableFile(target, displayPath);
  const beside = folder.entryPath(buildTemporaryFileName(random(8)));
  const handle = await open(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, FILE_MODE);
  try {
    try {
      await handle.writeFile(bytes);
      if (old !== undefined) await restoreModeAndOwner(handle, old);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (signal.aborted)
      throw new PostriderError("closed", `It was stopped before ${displayPath} was written.`);
    if (hasChanged(await findWritableFile(target, displayPath), replacing.expected))
      throw new PostriderError(
        "busy",
        `${displayPath} was changed by somebody else meanwhile. Read it again.`,
      );
    await rename(beside, target);
  } catch (error) {
    await unlink(beside).catch(() => {}); // nobody knows of it; what failed is told
    throw error;
  }
  await folder.sync();
}

/** A file that may be written to, if there is one. */
async function findWritableFile(target: string, shown: string): Promise<Stats | undefined> {
  const stats = await lstat(target).catch((error: unknown) => {
    if (getFileErrorCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) throw new PostriderError("invalid_input", `${shown} is a folder.`);
  if (!stats.isFile()) throw new PostriderError("not_allowed", `${shown} is not a file.`);
  // A rename asks for no right to the file itself.
  await access(target, constants.W_OK);
  return stats;
}

async function restoreModeAndOwner(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const made = await handle.stat();
  if (made.uid !== uid || made.gid !== gid)
    await handle.chown(uid, gid).catch((error: unknown) => {
      // Only root gives files away; to everyone else, what they write is theirs.
      if (getFileErrorCode(error) !== "EPERM") throw error;
    });
  // Who runs as somebody else by this file must not run what an agent wrote.
  await handle.chmod(mode & 0o777);
}

function hasChanged(now: Stats | undefined, read: FileReplacement["expected"]): boolean {
  if (read === undefined) return false;
  return now?.ino !== read.ino || now.mtimeMs !== read.mtimeMs || now.size !== read.size;
}
