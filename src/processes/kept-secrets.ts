import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import type { ProcessFolder } from "./process-folder.ts";

/** A pipe holds 64 KiB; more secrets than that are lost if the keeper is killed. */
const MAX_BYTES = 60_000;

/**
 * Puts the secrets of a process into the pipe that its recorder holds open: in memory, never on disk, and gone with the
 * recorder. Call `close` when the recorder has opened the pipe.
 */
export function keepSecrets(folder: ProcessFolder, secrets: readonly string[]): { close(): void } {
  const pipe = openPipe(folder);
  const bytes = Buffer.from(`${JSON.stringify(secrets)}\n`);
  if (bytes.length <= MAX_BYTES) writeSync(pipe, bytes);
  return { close: () => closeSync(pipe) };
}

/** The secrets that an earlier keeper put there; `undefined` if they are no longer known. */
export function readKeptSecrets(folder: ProcessFolder): readonly string[] | undefined {
  let pipe: number | undefined;
  try {
    pipe = openPipe(folder);
    const bytes = Buffer.alloc(MAX_BYTES);
    const length = readSync(pipe, bytes); // throws if it is empty
    const text = bytes.toString("utf8", 0, length);
    writeSync(pipe, bytes, 0, length); // for the next keeper
    return text.endsWith("\n") ? (JSON.parse(text) as string[]) : undefined;
  } catch {
    return undefined;
  } finally {
    if (pipe !== undefined) closeSync(pipe);
  }
}

function openPipe(folder: ProcessFolder): number {
  return openSync(folder.getFilePath("secrets"), constants.O_RDWR | constants.O_NONBLOCK);
}
