import { readFileSync } from "node:fs";

/** The write-ahead log of a database. */
export interface Log {
  /** Changes when SQLite begins the log anew, from where on the commits are counted from 0 again. */
  readonly salt: string;
  /** The frames that end a commit: how often the disk was waited for. */
  readonly commits: number;
  readonly bytes: number;
}

export function logOf(file: string): Log {
  const wal = readFileSync(`${file}-wal`);
  const page = wal.readUInt32BE(8);
  const salt = wal.subarray(16, 24);
  let commits = 0;
  let at = 32;
  for (; at + 24 + page <= wal.length; at += 24 + page) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break;
    if (wal.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return { salt: salt.toString("hex"), commits, bytes: at - 32 };
}

/** How many commits the work makes. Done again if the log began anew meanwhile, so it must not be long. */
export async function commitsOf(file: string, work: () => Promise<unknown>): Promise<number> {
  return (await writtenBy(file, work)).commits;
}

/** The same, and how many bytes it puts into the log. */
export async function writtenBy(
  file: string,
  work: () => Promise<unknown>,
): Promise<Pick<Log, "commits" | "bytes">> {
  for (let tries = 0; tries < 10; tries += 1) {
    const before = logOf(file);
    await work();
    const after = logOf(file);
    if (after.salt === before.salt)
      return { commits: after.commits - before.commits, bytes: after.bytes - before.bytes };
  }
  throw new Error("the log began anew every time");
}
