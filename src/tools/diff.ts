import { type PatchedText, replaceBetween, type TextReplacement } from "./text-patch.ts";

/** Unchanged lines around a change. */
const CONTEXT = 3;
/** The maximum length of a diff, because the model knows its own change. */
const MAX_DIFF_LENGTH = 6000;
const MAX_LINE_LENGTH = 300;

interface Hunk {
  /** A range of lines of the old text, from 0, end exclusive. */
  readonly from: number;
  readonly to: number;
  readonly places: readonly TextReplacement[];
}

/** Formats a patch as a unified diff without header. It cuts long diffs, and masks each line before it cuts. */
export function formatDiff(
  before: string,
  { replacements }: PatchedText,
  mask: (line: string) => string = (line) => line,
): string {
  const starts = findLineStarts(before);
  const hunks = groupHunks(replacements, before, starts);
  const shown: string[] = [];
  let length = 0;
  let shift = 0;
  for (const [index, hunk] of hunks.entries()) {
    const { lines: whole, grown } = formatHunk(before, starts, hunk, shift);
    const lines = whole.map((line) => shortenLine(mask(line)));
    const text = lines.join("\n");
    if (length + text.length > MAX_DIFF_LENGTH) {
      const rest = hunks.length - index - 1;
      const more = rest === 0 ? "" : ` ${rest} more ${rest === 1 ? "change" : "changes"}.`;
      return [...shown, truncateLines(lines, MAX_DIFF_LENGTH - length), `[The rest is omitted.${more}]`].join(
        "\n",
      );
    }
    shown.push(text);
    length += text.length;
    shift += grown;
  }
  return shown.join("\n");
}

/** Joins changes whose context lines touch. */
function groupHunks(
  places: readonly TextReplacement[],
  before: string,
  starts: readonly number[],
): readonly Hunk[] {
  const hunks: { from: number; to: number; places: TextReplacement[] }[] = [];
  for (const place of places) {
    const from = findLine(starts, place.from);
    const to = findLine(starts, hasWholeLines(before, place) ? place.to - 1 : place.to) + 1;
    const last = hunks.at(-1);
    if (last === undefined || last.to + 2 * CONTEXT < from) hunks.push({ from, to, places: [place] });
    else {
      last.to = Math.max(to, last.to);
      last.places.push(place);
    }
  }
  return hunks;
}

/** Whether the next line is certainly unchanged. */
function hasWholeLines(before: string, { to, becomes }: TextReplacement): boolean {
  return before[to - 1] === "\n" && becomes.endsWith("\n");
}

function formatHunk(
  before: string,
  starts: readonly number[],
  { from, to, places }: Hunk,
  shift: number,
): { lines: readonly string[]; grown: number } {
  const begin = starts[from] ?? 0;
  const end = starts[to] ?? before.length;
  const old = splitLines(before.slice(begin, end));
  const now = splitLines(replaceBetween(before, places, begin, end));
  const head = splitLines(before.slice(starts[Math.max(0, from - CONTEXT)] ?? 0, begin));
  const tail = splitLines(before.slice(end, starts[to + CONTEXT] ?? before.length));
  const at = from - head.length + 1;
  const around = head.length + tail.length;
  const changed = markLines(old, now);
  const lines = [
    `@@ -${at},${old.length + around} +${at + shift},${now.length + around} @@`,
    ...head.map((line) => ` ${line}`),
    ...changed,
    ...tail.map((line) => ` ${line}`),
  ];
  return { lines, grown: now.length - old.length };
}

/** Removes equal lines at both ends of a change. */
function markLines(old: readonly string[], now: readonly string[]): readonly string[] {
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  return [
    ...old.slice(0, head).map((line) => ` ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...old.slice(old.length - tail).map((line) => ` ${line}`),
  ];
}

function truncateLines(lines: readonly string[], room: number): string {
  const text = lines.join("\n");
  const end = text.lastIndexOf("\n", Math.max(0, room));
  return end <= 0 ? (lines[0] ?? "") : text.slice(0, end);
}

function findLineStarts(text: string): readonly number[] {
  const starts = text === "" ? [] : [0];
  for (let at = text.indexOf("\n"); at >= 0 && at + 1 < text.length; at = text.indexOf("\n", at + 1))
    starts.push(at + 1);
  return starts;
}

/** The line of a character. */
function findLine(starts: readonly number[], position: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

function splitLines(text: string): readonly string[] {
  if (text === "") return [];
  const whole = text.endsWith("\n") ? text.slice(0, -1) : text;
  return whole.split("\n").map((line) => line.replace(/\r$/, ""));
}

function shortenLine(line: string): string {
  return line.length <= MAX_LINE_LENGTH
    ? line
    : `${line.slice(0, MAX_LINE_LENGTH).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
