import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Without a disk, the figures show what Postrider itself costs. */
export const isInMemory: boolean = process.argv.includes("--memory-disk");

/** The folder for the files of the bench. */
export function findTemporaryFolder(): string {
  if (!isInMemory) return tmpdir();
  const found = [tmpdir(), "/dev/shm"].find(isMemoryDisk);
  if (found !== undefined) return found;
  process.stderr.write(
    "--memory-disk needs a file system in memory. /dev/shm is none here: set TMPDIR to a folder on a tmpfs.\n",
  );
  process.exit(1);
}

const TMPFS = 0x01021994;
const RAMFS = 0x858458f6;

function isMemoryDisk(folder: string): boolean {
  try {
    const { type } = statfsSync(folder);
    return type === TMPFS || type === RAMFS;
  } catch {
    return false; // it does not exist
  }
}
