import { readFileSync } from "node:fs";

/** The write-ahead log of a database. */
export interface Log {
  /** Changes when SQLite begins the log anew, from where on the commits are counted from 0 again. */
  readonly salt: string;
  /** The frames that end a commit: how often the disk was waited for. */
  readonly commits: number;
}

export function logOf(file: string): Log {
  const wal = readFileSync(`${file}-wal`);
  const page = wal.readUInt32BE(8);
  const salt = wal.subarray(16, 24);
  let commits = 0;
  for (let at = 32; at + 24 + page <= wal.length; at += 24 + page) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break;
    if (wal.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return { salt: salt.toString("hex"), commits };
}

/** How many commits the work makes. Done again if the log began anew meanwhile, so it must not be long. */
export async function commitsOf(file: string, work: () => Promise<unknown>): Promise<number> {
  for (let tries = 0; tries < 10; tries += 1) {
    const before = logOf(file);
    await work();
    const after = logOf(file);
    if (after.salt === before.salt) return after.commits - before.commits;
  }
  throw new Error("the log began anew every time");
}
