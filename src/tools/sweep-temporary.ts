import { lstat, opendir, unlink } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";

/** Longer than any write takes. */
const STALE_MS = 10 * 60_000;
/** The maximum number of checked entries of a folder. */
const MAX_ENTRIES = 10_000;
const MAX_FOLDERS = 1000;
const TEMPORARY_NAME = /^\.postrider-[0-9a-f]{16}\.tmp$/;

export function buildTemporaryFileName(random: Uint8Array): string {
  return `.postrider-${Buffer.from(random).toString("hex")}.tmp`;
}

const sweptFolders = new Set<string>();

/** Removes temporary files of killed processes: files of this user, older than ten minutes. Once per folder and process. */
export async function sweepTemporary(real: string, through: string, now: number): Promise<void> {
  if (sweptFolders.has(real) || sweptFolders.size >= MAX_FOLDERS) return;
  sweptFolders.add(real);
  let left = MAX_ENTRIES;
  for await (const { name } of await opendir(through)) {
    left -= 1;
    if (left < 0) return;
    if (!TEMPORARY_NAME.test(name)) continue;
    const file = join(through, name);
    const found = await lstat(file).catch(() => undefined);
    const isStale =
      found?.isFile() === true && found.uid === userInfo().uid && now - found.mtimeMs > STALE_MS;
    if (isStale) await unlink(file).catch(() => {}); // another process removed it
  }
}
