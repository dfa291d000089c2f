import { existsSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { ProcessFolder } from "./process-folder.ts";

/** V8 still collects strings of this length as young objects; larger ones cost the keeper a third more time. */
const CHUNK = 96 * 1024;

/** A position in the recorded output. */
export interface OutputPosition {
  readonly part: number;
  readonly byte: number;
}

export const OUTPUT_START: OutputPosition = { part: 0, byte: 0 };

/** Reads the parts that a recorder writes, one after the other, from a position. */
export interface OutputReader {
  /** New output as whole characters, and the number of bytes read so far; `undefined` if there is none. */
  read(): Promise<{ readonly text: string; readonly upTo: number } | undefined>;
  /** The position of a byte, counted from the first read. */
  getPosition(byte: number): OutputPosition;
  /** The output before this position is stored elsewhere: removes the parts before it. */
  release(position: OutputPosition): void;
  /** The incomplete character at the very end, in a form that can be shown. */
  readRest(): { readonly text: string; readonly upTo: number };
  close(): Promise<void>;
}

export function createOutputReader(folder: ProcessFolder, from: OutputPosition): OutputReader {
  /** The start of each part, counted from the first read. The first part starts before that. */
  let starts: { readonly part: number; readonly start: number }[] = [{ part: from.part, start: -from.byte }];
  let part = from.part;
  let byte = from.byte;
  let total = 0;
  let partial: Buffer = Buffer.alloc(0);
  let file: FileHandle | undefined;
  const buffer = Buffer.allocUnsafe(CHUNK);

  async function readNext(): Promise<Buffer | undefined> {
    for (;;) {
      // Checked before the read: once the next part exists, this one does not grow.
      const isComplete = existsSync(folder.getPartPath(part + 1));
      file ??= await open(folder.getPartPath(part)).catch(() => undefined);
      const { bytesRead = 0 } = (await file?.read(buffer, 0, CHUNK, byte)) ?? {};
      if (bytesRead > 0) {
        byte += bytesRead;
        total += bytesRead;
        return buffer.subarray(0, bytesRead);
      }
      if (!isComplete) return undefined;
      await file?.close();
      file = undefined;
      part += 1;
      byte = 0;
      starts.push({ part, start: total });
    }
  }

  return {
    async read() {
      const bytes = await readNext();
      if (bytes === undefined) return undefined;
      const all = partial.length === 0 ? bytes : Buffer.concat([partial, bytes]);
      const whole = all.length - countPartialBytes(all);
      const text = all.toString("utf8", 0, whole);
      partial = Buffer.from(all.subarray(whole));
      return { text, upTo: total - partial.length };
    },
    getPosition(target) {
      const found = starts.findLast(({ start }) => start <= target) ?? { part: from.part, start: -from.byte };
      return { part: found.part, byte: target - found.start };
    },
    release(position) {
      const old = starts.filter((one) => one.part < position.part);
      starts = starts.filter((one) => one.part >= position.part);
      for (const one of old) rmSync(folder.getPartPath(one.part), { force: true });
    },
    readRest: () => ({ text: partial.toString("utf8"), upTo: total }),
    async close() {
      await file?.close();
      file = undefined;
    },
  };
}

/** The number of bytes at the end that belong to an incomplete character. */
function countPartialBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue; // inside a character
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
