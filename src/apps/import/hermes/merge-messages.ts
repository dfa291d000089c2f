import { getText, type NewMessage } from "../../../core/message.ts";
import type { MappedMessage } from "./message-mapping.ts";

/** The merge of two records of one session. */
export interface MergedMessages {
  readonly messages: readonly MappedMessage[];
  readonly both: number;
  readonly databaseOnly: number;
  readonly transcriptOnly: number;
}

/**
 * Merges two records of a session: every message once, in order. If one is a prefix of the other, the result is the
 * longer one. Otherwise common messages keep their order, and the others stay between their neighbours, by time.
 */
export function mergeMessages(
  database: readonly MappedMessage[],
  transcript: readonly MappedMessage[],
): MergedMessages {
  const pairs = alignMessages(database.map(toMatchKey), transcript.map(toMatchKey));
  const messages: MappedMessage[] = [];
  let [d, t] = [0, 0];
  for (const [nextD, nextT] of [...pairs, [database.length, transcript.length] as const]) {
    messages.push(...mergeByTime(database.slice(d, nextD), transcript.slice(t, nextT)));
    const [row, line] = [database[nextD], transcript[nextT]];
    if (row !== undefined && line !== undefined) messages.push(mergePair(row, line));
    [d, t] = [nextD + 1, nextT + 1];
  }
  return {
    messages,
    both: pairs.length,
    databaseOnly: database.length - pairs.length,
    transcriptOnly: transcript.length - pairs.length,
  };
}

/** The key by which two records are the same message. It excludes the time, because each store has its own. */
function toMatchKey({ message }: MappedMessage): string {
  const { role, toolCallId = "", toolCalls = [], extra } = message;
  const calls = toolCalls.map(({ id, name }) => [id, name]);
  return JSON.stringify([
    role,
    role === "note" ? extra?.role : "",
    getText(message).trim(),
    toolCallId,
    calls,
  ]);
}

/** The database row has exact times and counts; the transcript line adds missing fields. */
function mergePair(row: MappedMessage, line: MappedMessage): MappedMessage {
  const hasMoreParts = line.message.parts.length > row.message.parts.length;
  const extra = { ...line.message.extra, ...row.message.extra };
  const message: NewMessage = {
    ...line.message,
    ...row.message,
    parts: (hasMoreParts ? line : row).message.parts,
    ...(Object.keys(extra).length > 0 && { extra }),
  };
  return { message, blobs: hasMoreParts ? line.blobs : row.blobs };
}

/** Merges two different runs by time; each run keeps its order. */
function mergeByTime(rows: readonly MappedMessage[], lines: readonly MappedMessage[]): MappedMessage[] {
  const merged: MappedMessage[] = [];
  let [r, l] = [0, 0];
  while (r < rows.length || l < lines.length) {
    const [row, line] = [rows[r], lines[l]];
    if (line === undefined || (row !== undefined && !(getTime(line) < getTime(row)))) {
      if (row !== undefined) merged.push(row);
      r += 1;
    } else {
      merged.push(line);
      l += 1;
    }
  }
  return merged;
}

function getTime({ message }: MappedMessage): number {
  return message.at ?? Number.NaN;
}

/** Above this number of comparisons, the first match is used instead of the best. */
const MAX_COMPARED = 4_000_000;

/** The indexes of common messages, ascending in both lists. */
function alignMessages(left: readonly string[], right: readonly string[]): (readonly [number, number])[] {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  const most = Math.min(left.length, right.length) - start;
  while (end < most && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  const a = left.slice(start, left.length - end);
  const b = right.slice(start, right.length - end);
  const middle = a.length * b.length <= MAX_COMPARED ? findLongestCommon(a, b) : findFirstCommon(a, b);
  return [
    ...Array.from({ length: start }, (_, i) => [i, i] as const),
    ...middle.map(([i, j]) => [start + i, start + j] as const),
    ...Array.from({ length: end }, (_, i) => [left.length - end + i, right.length - end + i] as const),
  ];
}

function findLongestCommon(a: readonly string[], b: readonly string[]): [number, number][] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const length = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        a[i] === b[j] ? length(i + 1, j + 1) + 1 : Math.max(length(i + 1, j), length(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (length(i + 1, j) >= length(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
}

function findFirstCommon(a: readonly string[], b: readonly string[]): [number, number][] {
  const places = new Map<string, number[]>();
  // Backwards, so that the next index is the last of its list.
  for (let j = b.length - 1; j >= 0; j -= 1) {
    const name = b[j] ?? "";
    const known = places.get(name);
    if (known === undefined) places.set(name, [j]);
    else known.push(j);
  }
  const pairs: [number, number][] = [];
  let from = 0;
  for (const [i, name] of a.entries()) {
    const left = places.get(name);
    let j = left?.pop();
    while (j !== undefined && j < from) j = left?.pop();
    if (j === undefined) continue;
    pairs.push([i, j]);
    from = j + 1;
  }
  return pairs;
}
