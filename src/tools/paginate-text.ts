import { pluralize } from "../core/pluralize.ts";
export interface Paging {
  /** The first line, from 1; less than 0 counts from the end. */
  readonly offset: number;
  readonly limit: number;
}

/** More of it at once would fill what a model can read. */
const LONGEST_PAGE = 60_000;
/** A longer line is counted as several, so that all of it can be read. */
const LONGEST_LINE = 10_000;

/** Some lines of a text, and which of how many they are. */
export function paginateText(
  text: string,
  { offset, limit }: Paging,
): { head: string; lines: readonly string[] } {
  const all = splitLines(text);
  const total = all.length;
  const first = Math.max(1, Math.min(total, offset < 0 ? total + Math.ceil(offset) + 1 : Math.floor(offset)));
  const wanted = all.slice(first - 1, first - 1 + Math.max(1, Math.floor(limit)));
  const lines: string[] = [];
  let length = 0;
  for (const line of wanted) {
    length += line.length + 1;
    if (length > LONGEST_PAGE && lines.length > 0) break;
    lines.push(line);
  }
  const last = first + lines.length - 1;
  const which = `${formatCount(first)} to ${formatCount(last)} of ${pluralize(total, "line")}`;
  const more = last < total ? [`read on with offset ${last + 1}`] : [];
  const divided =
    total === countLines(text) ? [] : [`lines over ${formatCount(LONGEST_LINE)} characters count as several`];
  return { head: [which, ...more, ...divided].join("; "), lines };
}

/** As editors count them: a last line break begins no further line. */
export function countLines(text: string): number {
  if (text === "") return 0;
  let breaks = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) breaks += 1;
  return text.endsWith("\n") ? breaks : breaks + 1;
}

function splitLines(text: string): readonly string[] {
  const whole = text.endsWith("\n") ? text.slice(0, -1) : text;
  return whole.split("\n").flatMap((line) => divideLongLine(line.endsWith("\r") ? line.slice(0, -1) : line));
}

function divideLongLine(line: string): readonly string[] {
  if (line.length <= LONGEST_LINE) return [line];
  const pieces: string[] = [];
  for (let from = 0; from < line.length; ) {
    let to = Math.min(line.length, from + LONGEST_LINE);
    // No pair is cut in two.
    if (to < line.length && /[\uD800-\uDBFF]/.test(line[to - 1] ?? "")) to -= 1;
    pieces.push(line.slice(from, to));
    from = to;
  }
  return pieces;
}

function formatCount(number: number): string {
  return number.toLocaleString("en-US");
}
