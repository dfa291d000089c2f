import { constants, type Stats } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, rename, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { PostriderError } from "../core/errors.ts";
import type { AllowedPath } from "./allowed-path.ts";
import { codeOf, fileFailure } from "./file-failure.ts";
import { type HeldFolder, holdFolder } from "./held-folder.ts";
import { sweepTemporary, temporaryName } from "./sweep-temporary.ts";

export interface Replacing {
  readonly to: AllowedPath;
  /** As it is told. */
  readonly shown: string;
  readonly bytes: Uint8Array;
  /** Refused if the file is no longer the one that was read. */
  readonly read?: Pick<Stats, "ino" | "mtimeMs" | "size">;
  random(bytes: number): Uint8Array;
  readonly signal: AbortSignal;
}

/** The user's own mask decides, as for any program. */
const FILE_MODE = 0o666;

/**
 * The file has these bytes: all of them, on the disk, or it is as it was. One that was there keeps its mode, and its owner
 * where that may be kept; a further hard link to it keeps the old bytes.
 */
export async function replaceFile(replacing: Replacing): Promise<void> {
  const { to, shown } = replacing;
  try {
    await mkdir(dirname(to.real), { recursive: true });
    // Whatever happened to the name since it was looked at: only the folder that was meant is held.
    const folder = await holdFolder(dirname(to.real));
    try {
      await replaceIn(folder, basename(to.real), replacing);
      // The file is written; a folder that cannot be listed is no reason to say otherwise.
      await sweepTemporary(dirname(to.real), folder.at(""), Date.now()).catch(() => {});
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw fileFailure(error, shown);
  }
}

async function replaceIn(folder: HeldFolder, name: string, replacing: Replacing): Promise<void> {
  const { shown, bytes, random, signal } = replacing;
  const target = folder.at(name);
  const old = await existing(target, shown);
  const beside = folder.at(temporaryName(random(8)));
  const handle = await open(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, FILE_MODE);
  try {
    try {
      await handle.writeFile(bytes);
      if (old !== undefined) await likeBefore(handle, old);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (signal.aborted) throw new PostriderError("closed", `It was stopped before ${shown} was written.`);
    if (isOther(await existing(target, shown), replacing.read))
      throw new PostriderError("busy", `${shown} was changed by somebody else meanwhile. Read it again.`);
    await rename(beside, target);
  } catch (error) {
    await unlink(beside).catch(() => {}); // nobody knows of it; what failed is told
    throw error;
  }
  await folder.sync();
}

/** A file that may be written to, if there is one. */
async function existing(target: string, shown: string): Promise<Stats | undefined> {
  const stats = await lstat(target).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) throw new PostriderError("invalid_input", `${shown} is a folder.`);
  if (!stats.isFile()) throw new PostriderError("not_allowed", `${shown} is not a file.`);
  // A rename asks for no right to the file itself.
  await access(target, constants.W_OK);
  return stats;
}

async function likeBefore(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const made = await handle.stat();
  if (made.uid !== uid || made.gid !== gid)
    await handle.chown(uid, gid).catch((error: unknown) => {
      // Only root gives files away; to everyone else, what they write is theirs.
      if (codeOf(error) !== "EPERM") throw error;
    });
  // Who runs as somebody else by this file must not run what an agent wrote.
  await handle.chmod(mode & 0o777);
}

function isOther(now: Stats | undefined, read: Replacing["read"]): boolean {
  if (read === undefined) return false;
  return now?.ino !== read.ino || now.mtimeMs !== read.mtimeMs || now.size !== read.size;
}
