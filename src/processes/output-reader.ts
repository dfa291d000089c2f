import { existsSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { ProcessFolder } from "./process-folder.ts";

/** Strings of this length are still collected as young objects; larger ones cost a third more of the keeper's time. */
const CHUNK = 96 * 1024;

/** A place in the recorded output. */
export interface OutputPosition {
  readonly part: number;
  readonly byte: number;
}

export const OUTPUT_START: OutputPosition = { part: 0, byte: 0 };

/** Reads the parts that a recorder writes, one after the other, from a place on. */
export interface OutputReader {
  /** What has come since, as whole characters, and how many bytes were read for all so far; `undefined` when there is nothing. */
  read(): Promise<{ readonly text: string; readonly upTo: number } | undefined>;
  /** The place of a byte, counted from where the reading began. */
  getPosition(byte: number): OutputPosition;
  /** What stands before this place is stored elsewhere: parts that lie before it are removed. */
  release(place: OutputPosition): void;
  /** The bytes at the very end that are half a character, as they can be shown. */
  readRest(): { readonly text: string; readonly upTo: number };
  close(): Promise<void>;
}

export function createOutputReader(folder: ProcessFolder, from: OutputPosition): OutputReader {
  /** Where each part begins, counted from where the reading began. The first begins before that. */
  let starts: { readonly part: number; readonly start: number }[] = [{ part: from.part, start: -from.byte }];
  let part = from.part;
  let byte = from.byte;
  let total = 0;
  let half: Buffer = Buffer.alloc(0);
  let file: FileHandle | undefined;
  const buffer = Buffer.allocUnsafe(CHUNK);

  async function next(): Promise<Buffer | undefined> {
    for (;;) {
      // Asked before reading: when the next part is there, this one does not grow any more.
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
      const bytes = await next();
      if (bytes === undefined) return undefined;
      const all = half.length === 0 ? bytes : Buffer.concat([half, bytes]);
      const whole = all.length - countPartialBytes(all);
      const text = all.toString("utf8", 0, whole);
      half = Buffer.from(all.subarray(whole));
      return { text, upTo: total - half.length };
    },
    getPosition(wanted) {
      const found = starts.findLast(({ start }) => start <= wanted) ?? { part: from.part, start: -from.byte };
      return { part: found.part, byte: wanted - found.start };
    },
    release(place) {
      const old = starts.filter((one) => one.part < place.part);
      starts = starts.filter((one) => one.part >= place.part);
      for (const one of old) rmSync(folder.getPartPath(one.part), { force: true });
    },
    readRest: () => ({ text: half.toString("utf8"), upTo: total }),
    async close() {
      await file?.close();
      file = undefined;
    },
  };
}

/** How many bytes at the end begin a character that goes on behind it. */
function countPartialBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue; // inside of a character
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
