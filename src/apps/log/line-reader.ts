import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { listRotatedFiles } from "./rotating-file.ts";

export interface LineReader {
  /** The complete lines since the last call; at the first call, all lines. */
  read(): readonly string[];
}

/** Reads a rotating log, oldest first. It keeps no file open and identifies files by inode, because rotation renames them. */
export function createLineReader(file: string, kept: number): LineReader {
  let last: { readonly inode: number; readonly position: number } | undefined;
  return {
    read() {
      const found = listRotatedFiles(file, kept).flatMap((name) => {
        const inode = statSync(name, { throwIfNoEntry: false })?.ino;
        return inode === undefined ? [] : [{ name, inode }];
      });
      // If the last file is gone, all existing files are newer.
      const from = Math.max(
        0,
        found.findIndex(({ inode }) => inode === last?.inode),
      );
      const lines: string[] = [];
      for (const { name, inode } of found.slice(from)) {
        const read = readLinesFrom(name, inode, last?.inode === inode ? last.position : 0);
        if (read === undefined) break; // the files were rotated in between; the next call searches again
        last = { inode, position: read.position };
        lines.push(...read.lines);
      }
      return lines;
    },
  };
}

function readLinesFrom(
  name: string,
  inode: number,
  position: number,
): { readonly lines: readonly string[]; readonly position: number } | undefined {
  let handle: number;
  try {
    handle = openSync(name, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { ino, size } = fstatSync(handle);
    if (ino !== inode) return undefined;
    const start = position > size ? 0 : position;
    const bytes = Buffer.alloc(size - start);
    const whole = bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, start));
    const end = whole.lastIndexOf("\n") + 1;
    const text = whole.subarray(0, end).toString("utf8");
    return { lines: text.split("\n").filter((line) => line !== ""), position: start + end };
  } finally {
    closeSync(handle);
  }
}
