import { pluralize } from "../core/pluralize.ts";
export interface Paging {
  /** The first line, from 1; a negative number counts from the end. */
  readonly offset: number;
  readonly limit: number;
}

/** The maximum length of a page, to spare the context window. */
const MAX_PAGE_LENGTH = 60_000;
/** A longer line counts as several, so that all of it can be read. */
const MAX_LINE_LENGTH = 10_000;

/** Returns some lines of a text, and their position. */
export function paginateText(
  text: string,
  { offset, limit }: Paging,
): { head: string; lines: readonly string[] } {
  const all = splitLines(text);
  const total = all.length;
  const first = Math.max(1, Math.min(total, offset < 0 ? total + Math.ceil(offset) + 1 : Math.floor(offset)));
  const page = all.slice(first - 1, first - 1 + Math.max(1, Math.floor(limit)));
  const lines: string[] = [];
  let length = 0;
  for (const line of page) {
    length += line.length + 1;
    if (length > MAX_PAGE_LENGTH && lines.length > 0) break;
    lines.push(line);
  }
  const last = first + lines.length - 1;
  const which = `${formatCount(first)} to ${formatCount(last)} of ${pluralize(total, "line")}`;
  const more = last < total ? [`continue with offset ${last + 1}`] : [];
  const divided =
    total === countLines(text)
      ? []
      : [`lines over ${formatCount(MAX_LINE_LENGTH)} characters count as several`];
  return { head: [which, ...more, ...divided].join("; "), lines };
}

/** Counts lines as editors do: a final line break starts no new line. */
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
  if (line.length <= MAX_LINE_LENGTH) return [line];
  const pieces: string[] = [];
  for (let from = 0; from < line.length; ) {
    let to = Math.min(line.length, from + MAX_LINE_LENGTH);
    // Never splits a surrogate pair.
    if (to < line.length && /[\uD800-\uDBFF]/.test(line[to - 1] ?? "")) to -= 1;
    pieces.push(line.slice(from, to));
    from = to;
  }
  return pieces;
}

function formatCount(number: number): string {
  return number.toLocaleString("en-US");
}
