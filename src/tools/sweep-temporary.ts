import { lstat, opendir, unlink } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";

/** Longer than any file takes to be written. */
const STALE_MS = 10 * 60_000;
/** In a folder with more entries than this, the rest is not looked at. */
const MOST_ENTRIES = 10_000;
const MOST_FOLDERS = 1000;
const TEMPORARY_NAME = /^\.postrider-[0-9a-f]{16}\.tmp$/;

export function buildTemporaryFileName(random: Uint8Array): string {
  return `.postrider-${Buffer.from(random).toString("hex")}.tmp`;
}

const sweptFolders = new Set<string>();

/**
 * Removes what a process that was killed in the middle of a write has left in this folder: only files of this user with our
 * name that nobody has written to for ten minutes. Once for each folder, since only an earlier process can have left any.
 */
export async function sweepTemporary(real: string, through: string, now: number): Promise<void> {
  if (sweptFolders.has(real) || sweptFolders.size >= MOST_FOLDERS) return;
  sweptFolders.add(real);
  let left = MOST_ENTRIES;
  for await (const { name } of await opendir(through)) {
    left -= 1;
    if (left < 0) return;
    if (!TEMPORARY_NAME.test(name)) continue;
    const file = join(through, name);
    const found = await lstat(file).catch(() => undefined);
    const isStale =
      found?.isFile() === true && found.uid === userInfo().uid && now - found.mtimeMs > STALE_MS;
    if (isStale) await unlink(file).catch(() => {}); // another process was quicker
  }
}
