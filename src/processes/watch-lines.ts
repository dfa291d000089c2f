import { pluralize } from "../core/pluralize.ts";
import { stripTerminalCodes } from "../core/terminal-codes.ts";

/** So many lines are told of in a while; more are only counted. */
const MOST_IN_A_WINDOW = 8;
const WINDOW_MS = 10_000;
/** A program that goes on like this is not what its patterns were meant for. */
const OVERLOAD_MS = 45_000;
/** A line without an end is looked at in parts. */
const LONGEST_LINE = 4096;
const MAX_REPORTED_LINE = 500;

/** Finds the lines that hold a pattern in what a program prints. */
export interface LineWatch {
  /** The lines that are found with this, and now and then a line that says how many more there were. */
  take(text: string, now: number): readonly string[];
  /** Nothing has come for a while: a line that waits for an answer has no end. */
  idle(now: number): readonly string[];
}

export function createLineWatch(patterns: readonly string[]): LineWatch {
  const wanted = patterns.filter((pattern) => pattern !== "");
  const overlap = Math.max(0, ...wanted.map((pattern) => pattern.length - 1));
  let partial = "";
  let isFound = false;
  let window = { began: Number.NEGATIVE_INFINITY, count: 0 };
  let overloadedSince: number | undefined;
  let isOff = wanted.length === 0;

  function look(text: string, now: number, told: string[]): void {
    if (isFound || isOff) return;
    const line = stripTerminalCodes(text).replaceAll("\r", "");
    const at = wanted.map((pattern) => line.indexOf(pattern)).find((index) => index >= 0);
    if (at === undefined) return;
    isFound = true;
    if (window.count < MOST_IN_A_WINDOW) told.push(cutAroundMatch(line, at));
    else {
      overloadedSince ??= now;
      isOff = now - overloadedSince >= OVERLOAD_MS;
      if (isOff) told.push("(The patterns are found all the time, so they are not looked for any more.)");
    }
    window.count += 1;
  }

  function nextWindow(now: number, told: string[]): void {
    if (now - window.began < WINDOW_MS) return;
    const more = window.count - MOST_IN_A_WINDOW;
    if (more > 0) told.push(`(and ${pluralize(more, "more line", "more lines")} with one of the patterns)`);
    // One quiet window, and it is no overload.
    if (more <= 0 || now - window.began >= 2 * WINDOW_MS) overloadedSince = undefined;
    window = { began: now, count: 0 };
  }

  function take(text: string, now: number): readonly string[] {
    if (isOff) return [];
    const told: string[] = [];
    nextWindow(now, told);
    const lines = (partial + text).split("\n");
    partial = lines.pop() ?? "";
    for (const line of lines) {
      look(line, now, told);
      isFound = false;
    }
    if (partial.length > LONGEST_LINE) {
      look(partial, now, told);
      partial = partial.slice(partial.length - overlap);
    }
    return told;
  }

  return {
    take,
    idle(now) {
      if (isOff) return [];
      const told: string[] = [];
      nextWindow(now, told);
      look(partial, now, told);
      return told;
    },
  };
}

/** The part of a line that holds what was found. */
function cutAroundMatch(line: string, at: number): string {
  if (line.length <= MAX_REPORTED_LINE) return line.trim();
  const from = Math.max(0, Math.min(at - 100, line.length - MAX_REPORTED_LINE));
  return line.slice(from, from + MAX_REPORTED_LINE).trim();
}
