import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { hasFile } from "../files.ts";

/** The pages of a database file with its log applied, in any state. Counted from 1. */
export interface Pages {
  readonly size: number;
  /** Bytes of a page that SQLite uses. */
  readonly usable: number;
  readonly count: number;
  /** Whether the first page is the header of a database. */
  readonly hasHeader: boolean;
  /** Frames of the log that cannot be trusted: they follow a broken one. */
  readonly lostFrames: number;
  read(page: number): Buffer | undefined;
  close(): void;
}

const MAGIC = "SQLite format 3\0";
const DEFAULT_SIZE = 4096;

export function openPages(file: string): Pages {
  const handle = openSync(file, "r");
  const bytes = fstatSync(handle).size;
  const log = hasFile(`${file}-wal`) ? readFileSync(`${file}-wal`) : Buffer.alloc(0);
  const header = Buffer.alloc(100);
  readSync(handle, header, 0, 100, 0);
  const inFile = header.toString("latin1", 0, 16) === MAGIC ? readPageSize(header) : undefined;
  const size = inFile ?? readLogPageSize(log) ?? DEFAULT_SIZE;
  const { frames, lost } = readFrames(log, size);
  const first = frames.get(1);
  const reserved = (first ?? header)[20] ?? 0;
  const hasHeader = inFile !== undefined || first?.toString("latin1", 0, 16) === MAGIC;
  return {
    size,
    usable: hasHeader && reserved < 64 ? size - reserved : size,
    count: Math.max(Math.floor(bytes / size), ...frames.keys(), 0),
    hasHeader,
    lostFrames: lost,
    read(page) {
      const framed = frames.get(page);
      if (framed !== undefined) return framed;
      const data = Buffer.alloc(size);
      return readSync(handle, data, 0, size, (page - 1) * size) === size ? data : undefined;
    },
    close: () => closeSync(handle),
  };
}

function readPageSize(header: Buffer): number | undefined {
  const stored = header.readUInt16BE(16);
  const size = stored === 1 ? 65_536 : stored;
  return size >= 512 && (size & (size - 1)) === 0 ? size : undefined;
}

const LOG_HEADER = 32;
const FRAME_HEADER = 24;

function readLogPageSize(log: Buffer): number | undefined {
  if (log.length < LOG_HEADER || log.readUInt32BE(0) >>> 1 !== 0x377f0682 >>> 1) return undefined;
  const size = log.readUInt32BE(8);
  return size >= 512 && size <= 65_536 && (size & (size - 1)) === 0 ? size : undefined;
}

/** The newest version of each page in the log, up to the last commit before a broken frame. */
function readFrames(log: Buffer, size: number): { frames: Map<number, Buffer>; lost: number } {
  const frames = new Map<number, Buffer>();
  if (readLogPageSize(log) !== size) return { frames, lost: 0 };
  const isBig = (log.readUInt32BE(0) & 1) === 1;
  const salts = log.subarray(16, 24);
  let sum = computeChecksum(log.subarray(0, 24), isBig, [0, 0]);
  let pending = new Map<number, Buffer>();
  let lost = 0;
  for (let at = LOG_HEADER; at + FRAME_HEADER + size <= log.length; at += FRAME_HEADER + size) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) break; // from before the last restart of the log
    const data = log.subarray(at + FRAME_HEADER, at + FRAME_HEADER + size);
    sum = computeChecksum(data, isBig, computeChecksum(log.subarray(at, at + 8), isBig, sum));
    if (lost > 0 || sum[0] !== log.readUInt32BE(at + 16) || sum[1] !== log.readUInt32BE(at + 20)) {
      lost += 1;
      continue;
    }
    pending.set(log.readUInt32BE(at), data);
    if (log.readUInt32BE(at + 4) === 0) continue;
    for (const [page, bytes] of pending) frames.set(page, bytes);
    pending = new Map();
  }
  return { frames, lost };
}

function computeChecksum(data: Buffer, isBig: boolean, start: readonly [number, number]): [number, number] {
  let [a, b] = start;
  for (let at = 0; at < data.length; at += 8) {
    const x = isBig ? data.readUInt32BE(at) : data.readUInt32LE(at);
    const y = isBig ? data.readUInt32BE(at + 4) : data.readUInt32LE(at + 4);
    a = (a + x + b) >>> 0;
    b = (b + y + a) >>> 0;
  }
  return [a, b];
}
