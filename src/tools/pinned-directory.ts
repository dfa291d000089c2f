import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { PostriderError } from "../core/errors.ts";

/**
 * A directory that stays the same even if its name changes. On Linux, entries are opened through the directory handle, so
 * that a link in its place has no effect. Other systems check the name again, which leaves a short race.
 */
export interface PinnedDirectory {
  /** The path of an entry while the directory is pinned. */
  entryPath(name: string): string;
  /** Flushes changes of the entries to disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Pins the directory, if its real path is still the same. */
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
  const actual = process.platform === "linux" ? await readlink(through).catch(() => undefined) : undefined;
  if ((actual ?? (await realpath(real))) === real) return actual === undefined ? real : through;
  throw new PostriderError("not_allowed", `${real} was replaced while it was opened. Check it again.`);
}
