import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { PostriderError } from "../core/errors.ts";

/**
 * A folder that stays the one it was, whatever becomes of its name. On Linux its entries are reached through the open
 * folder itself, so that no link put in its place leads elsewhere. Other systems have no such way: there the name is looked
 * at again, and whoever swaps it in that very instant is not seen.
 */
export interface PinnedDirectory {
  /** How an entry of it is called while it is held. */
  entryPath(name: string): string;
  /** What was done to its entries is on the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Held only if it is still where this real path says; anything else was swapped since. */
export async function pinDirectory(real: string): Promise<PinnedDirectory> {
  const handle = await open(real, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const through = await resolvePinnedPath(handle, real);
    return {
      entryPath: (name) => join(through, name),
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function resolvePinnedPath({ fd }: FileHandle, real: string): Promise<string> {
  const through = `/proc/self/fd/${fd}`;
  const seen = process.platform === "linux" ? await readlink(through).catch(() => undefined) : undefined;
  if ((seen ?? (await realpath(real))) === real) return seen === undefined ? real : through;
  throw new PostriderError("not_allowed", `${real} was changed while it was opened. Look again.`);
}
