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
  /** The path for messages. */
  readonly displayPath: string;
  readonly bytes: Uint8Array;
  /** The stats of the file that was read; a changed file is refused. */
  readonly expected?: Pick<Stats, "ino" | "mtimeMs" | "size">;
  random(bytes: number): Uint8Array;
  readonly signal: AbortSignal;
}

/** The umask applies, as for any program. */
const FILE_MODE = 0o666;

/** Replaces a file atomically and flushes it. It keeps the mode, and the owner if possible; other hard links keep the old bytes. */
export async function replaceFile(replacing: FileReplacement): Promise<void> {
  const { to, displayPath } = replacing;
  try {
    await mkdir(dirname(to.realPath), { recursive: true });
    // Pins the checked folder, even if its name changed since.
    const folder = await pinDirectory(dirname(to.realPath));
    try {
      await replaceEntry(folder, basename(to.realPath), replacing);
      // The file is written already, so an error here does not matter.
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
      throw new PostriderError("closed", `The call was stopped before ${displayPath} was written.`);
    if (hasChanged(await findWritableFile(target, displayPath), replacing.expected))
      throw new PostriderError(
        "busy",
        `${displayPath} was changed by another process in the meantime. Read it again.`,
      );
    await rename(beside, target);
  } catch (error) {
    await unlink(beside).catch(() => {}); // the original error is reported
    throw error;
  }
  await folder.sync();
}

/** The stats of a writable file, if it exists. */
async function findWritableFile(target: string, shown: string): Promise<Stats | undefined> {
  const stats = await lstat(target).catch((error: unknown) => {
    if (getFileErrorCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) throw new PostriderError("invalid_input", `${shown} is a folder.`);
  if (!stats.isFile()) throw new PostriderError("not_allowed", `${shown} is not a file.`);
  // A rename does not check the permissions of the file itself.
  await access(target, constants.W_OK);
  return stats;
}

async function restoreModeAndOwner(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const made = await handle.stat();
  if (made.uid !== uid || made.gid !== gid)
    await handle.chown(uid, gid).catch((error: unknown) => {
      // Only root can change the owner.
      if (getFileErrorCode(error) !== "EPERM") throw error;
    });
  // Drops setuid and setgid, so that nobody runs an agent's text as another user.
  await handle.chmod(mode & 0o777);
}

function hasChanged(now: Stats | undefined, read: FileReplacement["expected"]): boolean {
  if (read === undefined) return false;
  return now?.ino !== read.ino || now.mtimeMs !== read.mtimeMs || now.size !== read.size;
}
