import { MARK } from "./marks.ts";

/** The limits of a brace expansion: more words or deeper nesting count as unreadable. */
const MOST = 64;
const MAX_DEPTH = 6;
const RANGE = /^(?:(-?\d{1,6})\.\.(-?\d{1,6})|([A-Za-z])\.\.([A-Za-z]))$/;

/** Expands `a{b,c}d` to `abd acd`. Undefined above the limits. Unquoted braces and commas are marks. */
export function expandBraces(marked: string): readonly string[] | undefined {
  if (!marked.includes(MARK.open)) return [marked];
  const closers = matchBraces(marked);
  let budget = 16 * MOST * 64;

  function expand(from: number, to: number, depth: number): readonly string[] | undefined {
    if (depth > MAX_DEPTH) return undefined;
    let all: readonly string[] = [""];
    let at = from;
    while (at < to) {
      const closer = marked[at] === MARK.open ? closers.get(at) : undefined;
      const next = closer === undefined ? findNextOpen(at + 1, to) : closer + 1;
      const parts = closer === undefined ? [marked.slice(at, next)] : list(at, closer, depth);
      if (parts === undefined || all.length * parts.length > MOST) return undefined;
      all = all.flatMap((head) => parts.map((tail) => head + tail));
      budget -= all.reduce((sum, text) => sum + text.length, 0);
      if (budget < 0) return undefined;
      at = next;
    }
    return all;
  }

  function list(open: number, close: number, depth: number): readonly string[] | undefined {
    const parts: string[] = [];
    let start = open + 1;
    let isList = false;
    for (let at = start; at <= close; at += 1) {
      const inner = marked[at] === MARK.open ? closers.get(at) : undefined;
      if (inner !== undefined) at = inner;
      else if (at === close || marked[at] === MARK.comma) {
        isList ||= at < close;
        const expanded = expand(start, at, depth + 1);
        if (expanded === undefined) return undefined;
        parts.push(...expanded);
        start = at + 1;
      }
    }
    if (isList) return parts;
    return expandRange(marked.slice(open + 1, close)) ?? parts.map((part) => `{${part}}`);
  }

  function findNextOpen(from: number, to: number): number {
    const found = marked.indexOf(MARK.open, from);
    return found < 0 || found > to ? to : found;
  }

  return expand(0, marked.length, 0);
}

function matchBraces(marked: string): ReadonlyMap<number, number> {
  const closers = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < marked.length; at += 1) {
    if (marked[at] === MARK.open) open.push(at);
    const opener = marked[at] === MARK.close ? open.pop() : undefined;
    if (opener !== undefined) closers.set(opener, at);
  }
  return closers;
}

function expandRange(text: string): readonly string[] | undefined {
  const found = RANGE.exec(text);
  if (found === null) return undefined;
  const [, low, high, first, last] = found;
  const isNumber = low !== undefined;
  const from = isNumber ? Number(low) : (first ?? "").charCodeAt(0);
  const to = isNumber ? Number(high) : (last ?? "").charCodeAt(0);
  const count = Math.abs(to - from) + 1;
  if (count > MOST) return [MARK.made];
  return Array.from({ length: count }, (_, index) => {
    const value = from + (to < from ? -index : index);
    return isNumber ? String(value) : String.fromCharCode(value);
  });
}
