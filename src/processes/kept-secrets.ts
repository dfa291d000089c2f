import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import type { ProcessFolder } from "./process-folder.ts";

/** A pipe takes 64 KiB; more secrets than that are not known after the keeper was killed. */
const MOST_BYTES = 60_000;

/**
 * Puts the secrets of a process into the pipe that its recorder holds open: in memory, never on the disk, and gone with the
 * recorder. `close` is called when the recorder has it open.
 */
export function keepSecrets(folder: ProcessFolder, secrets: readonly string[]): { close(): void } {
  const pipe = openPipe(folder);
  const bytes = Buffer.from(`${JSON.stringify(secrets)}\n`);
  if (bytes.length <= MOST_BYTES) writeSync(pipe, bytes);
  return { close: () => closeSync(pipe) };
}

/** The secrets that a keeper before this one has put there; `undefined` when they are not known any more. */
export function readKeptSecrets(folder: ProcessFolder): readonly string[] | undefined {
  let pipe: number | undefined;
  try {
    pipe = openPipe(folder);
    const bytes = Buffer.alloc(MOST_BYTES);
    const length = readSync(pipe, bytes); // throws when it is empty
    const text = bytes.toString("utf8", 0, length);
    writeSync(pipe, bytes, 0, length); // for the next
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
