import { KEPT_OUTPUT, type ProcessOutput } from "../../core/process.ts";
import type { Db } from "./db.ts";
import {
  chunksBackwardsSql,
  chunksFromSql,
  deleteOldChunksSql,
  growChunkSql,
  insertChunkSql,
  lastChunkSql,
} from "./statements/processes.ts";

interface OutputChunk {
  readonly from: number;
  readonly text: string;
}

/** Smaller chunks are joined up to this length, so that a process that prints a dot per second needs few rows. */
const MAX_MERGED_LENGTH = 4_096;

/** Appends a chunk, and deletes chunks that lie completely before the last `KEPT_OUTPUT` characters. */
export function appendChunk(db: Db, process: number, chunk: OutputChunk): void {
  const { from, text } = chunk;
  const row = db.get<ChunkRow>(lastChunkSql, process);
  const last = row && toChunk(row);
  const isAdjacent = last !== undefined && last.from + last.text.length === from;
  if (
    row !== undefined &&
    last !== undefined &&
    isAdjacent &&
    last.text.length + text.length <= MAX_MERGED_LENGTH
  )
    db.send(growChunkSql, ...encodeChunk(last.text + text), row.n);
  else db.send(insertChunkSql, process, from, ...encodeChunk(text));
  // One less than the maximum may be cut at a surrogate pair: nothing before it is kept.
  const isAll = text.length >= KEPT_OUTPUT - 1;
  const first = isAll ? from : from + text.length - KEPT_OUTPUT;
  if (first > 0) db.send(deleteOldChunksSql, process, process, first);
}

/**
 * Reads from the first kept character at or after `from` to the next gap. Neither end splits a surrogate pair, so a
 * reader that continues at the end misses nothing.
 */
export function readOutputFrom(
  db: Db,
  { n, total }: { n: number; total: number },
  from: number,
  limit: number,
): ProcessOutput {
  const first = Math.max(from, total - KEPT_OUTPUT, 0);
  let start = first;
  let text = "";
  for (const row of db.all<ChunkRow>(chunksFromSql, n, n, first)) {
    const chunk = toChunk(row);
    if (chunk.from + chunk.text.length <= first) continue;
    if (text === "") start = Math.max(first, chunk.from);
    else if (chunk.from > start + text.length) break;
    text += chunk.text.slice(start + text.length - chunk.from);
    // One more than the limit: it shows whether the last character is half of a pair.
    if (text.length > limit) break;
  }
  if (text === "") return { text, from: Math.max(first, total), total };
  const skipped = isLowSurrogate(text, 0) ? 1 : 0;
  return { text: cutAtPair(text.slice(skipped), limit), from: start + skipped, total };
}

/** The last characters, back to the last gap. */
export function readLastOutput(
  db: Db,
  { n, total }: { n: number; total: number },
  limit: number,
): ProcessOutput {
  const max = Math.min(limit, KEPT_OUTPUT);
  const chunks: string[] = [];
  let start = total;
  for (const row of db.all<ChunkRow>(chunksBackwardsSql, n)) {
    const chunk = toChunk(row);
    if (total - start >= max || chunk.from + chunk.text.length !== start) break;
    chunks.push(chunk.text);
    start = chunk.from;
  }
  const first = Math.max(start, total - max);
  const text = chunks
    .reverse()
    .join("")
    .slice(first - start);
  const skipped = isLowSurrogate(text, 0) ? 1 : 0;
  return { text: cutAtPair(text.slice(skipped), text.length), from: first + skipped, total };
}

interface ChunkRow {
  n: number;
  from_char: number;
  text: string;
  /** UTF-16 bytes instead of the text. */
  utf16: Uint8Array | null;
}

function toChunk({ from_char, text, utf16 }: ChunkRow): OutputChunk {
  return { from: from_char, text: utf16 === null ? text : Buffer.from(utf16).toString("utf16le") };
}

/** UTF-8 has no form for half a surrogate pair: a chunk that ends within one is stored as UTF-16 bytes. */
function encodeChunk(text: string): [text: string, utf16: Uint8Array | null] {
  return text.isWellFormed() ? [text, null] : ["", Buffer.from(text, "utf16le")];
}

/** At most `limit` characters without half a pair at the end; but at least one, so that a reader makes progress. */
function cutAtPair(text: string, limit: number): string {
  const end = Math.min(text.length, limit);
  if (end === 0 || !isHighSurrogate(text, end - 1)) return text.slice(0, end);
  return text.slice(0, end === 1 && isLowSurrogate(text, 1) ? 2 : end - 1);
}

/** The start of the last `max` characters, without half a pair. */
export function findKeptStart(text: string, max: number): number {
  const start = Math.max(0, text.length - max);
  return start > 0 && isLowSurrogate(text, start) ? start + 1 : start;
}

function isHighSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
