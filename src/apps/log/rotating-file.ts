import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

export interface RotatingFile {
  /** Writes whole lines synchronously, so that a crash of the process loses none. */
  write(lines: string): void;
  close(): void;
}

export interface RotatingFileOptions {
  readonly file: string;
  /** The size at which the file rotates. */
  readonly maxBytes: number;
  /** The number of rotated files: `.1` is the newest. */
  readonly kept: number;
  /** Called when writing starts to fail. Writing itself never throws. */
  readonly onFailure: (error: Error) => void;
}

/** A private log file with a size limit. */
export function openRotatingFile({ file, maxBytes, kept, onFailure }: RotatingFileOptions): RotatingFile {
  let handle: number | undefined;
  let hasFailed = false;
  /** A full disk cut the last line. */
  let isTorn = false;

  function open(): number {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
    const opened = openSync(file, flags, 0o600);
    fchmodSync(opened, 0o600); // an existing file may have been readable by others
    return opened;
  }

  /** Reopens the file if it was moved or removed. */
  function current(): number {
    if (handle !== undefined && statSync(file, { throwIfNoEntry: false })?.ino !== fstatSync(handle).ino)
      close();
    handle ??= open();
    return handle;
  }

  function close(): void {
    if (handle !== undefined) closeSync(handle);
    handle = undefined;
  }

  function rotate(): void {
    close();
    for (let number = kept; number > 0; number -= 1) {
      moveIfPresent(number === 1 ? file : `${file}.${number - 1}`, `${file}.${number}`);
    }
  }

  function append(bytes: Buffer): void {
    const size = fstatSync(current()).size;
    if (size > 0 && size + bytes.length > maxBytes) rotate();
    for (let at = 0; at < bytes.length; ) {
      at += writeSync(current(), bytes, at);
      isTorn = at < bytes.length;
    }
  }

  return {
    write(lines) {
      try {
        append(Buffer.from(isTorn ? `\n${lines}` : lines));
        hasFailed = false;
      } catch (error) {
        if (!hasFailed) onFailure(error as Error);
        hasFailed = true;
      }
    },
    close,
  };
}

function moveIfPresent(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** The file and its rotated versions, oldest first. */
export function listRotatedFiles(file: string, kept: number): readonly string[] {
  return [...Array.from({ length: kept }, (_, index) => `${file}.${kept - index}`), file];
}
