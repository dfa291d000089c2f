import { pluralize } from "../core/pluralize.ts";
import { stripTerminalCodes } from "../core/printable.ts";

/** The maximum number of lines reported in one window; more are only counted. */
const MAX_IN_WINDOW = 8;
const WINDOW_MS = 10_000;
/** The patterns do not fit a process that matches all the time for this long. */
const OVERLOAD_MS = 45_000;
/** A longer line without a newline is searched in parts. */
const MAX_LINE = 4096;
const MAX_REPORTED_LINE = 500;

/** Finds the lines that contain a pattern in the output of a process. */
export interface LineWatch {
  /** The matched lines, and sometimes a line with the number of further matches. */
  take(text: string, now: number): readonly string[];
  /** No output for a while: searches the incomplete line, which may be a prompt. */
  idle(now: number): readonly string[];
}

export function createLineWatch(patterns: readonly string[]): LineWatch {
  const searched = patterns.filter((pattern) => pattern !== "");
  const overlap = Math.max(0, ...searched.map((pattern) => pattern.length - 1));
  let partial = "";
  let isFound = false;
  let window = { began: Number.NEGATIVE_INFINITY, count: 0 };
  let overloadedSince: number | undefined;
  let isOff = searched.length === 0;

  function searchLine(text: string, now: number, reported: string[]): void {
    if (isFound || isOff) return;
    const line = stripTerminalCodes(text).replaceAll("\r", "");
    const at = searched.map((pattern) => line.indexOf(pattern)).find((index) => index >= 0);
    if (at === undefined) return;
    isFound = true;
    if (window.count < MAX_IN_WINDOW) reported.push(cutAroundMatch(line, at));
    else {
      overloadedSince ??= now;
      isOff = now - overloadedSince >= OVERLOAD_MS;
      if (isOff) reported.push("(The patterns match all the time, so the output is no longer searched.)");
    }
    window.count += 1;
  }

  function startNextWindow(now: number, reported: string[]): void {
    if (now - window.began < WINDOW_MS) return;
    const more = window.count - MAX_IN_WINDOW;
    if (more > 0)
      reported.push(`(and ${pluralize(more, "more line", "more lines")} with one of the patterns)`);
    // One quiet window ends the overload.
    if (more <= 0 || now - window.began >= 2 * WINDOW_MS) overloadedSince = undefined;
    window = { began: now, count: 0 };
  }

  function take(text: string, now: number): readonly string[] {
    if (isOff) return [];
    const reported: string[] = [];
    startNextWindow(now, reported);
    const lines = (partial + text).split("\n");
    partial = lines.pop() ?? "";
    for (const line of lines) {
      searchLine(line, now, reported);
      isFound = false;
    }
    if (partial.length > MAX_LINE) {
      searchLine(partial, now, reported);
      partial = partial.slice(partial.length - overlap);
    }
    return reported;
  }

  return {
    take,
    idle(now) {
      if (isOff) return [];
      const reported: string[] = [];
      startNextWindow(now, reported);
      searchLine(partial, now, reported);
      return reported;
    },
  };
}

/** The part of a long line that contains the match. */
function cutAroundMatch(line: string, at: number): string {
  if (line.length <= MAX_REPORTED_LINE) return line.trim();
  const from = Math.max(0, Math.min(at - 100, line.length - MAX_REPORTED_LINE));
  return line.slice(from, from + MAX_REPORTED_LINE).trim();
}
