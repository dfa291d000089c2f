/** The closing marks of one text. Indexed once, because a search from every mark would take quadratic time. */
export interface MarkIndex {
  /** The bracket that closes the one at `open`. */
  findClosingBracket(open: number): number | undefined;
  /** The next run of exactly `ticks` backticks, at `from` or later. */
  findClosingTicks(from: number, ticks: number): number | undefined;
  /** Emphasis marks that are not closed in the rest of the text. */
  readonly unclosed: Set<string>;
}

export function indexMarks(source: string): MarkIndex {
  let brackets: ReadonlyMap<number, number> | undefined;
  let ticks: ReadonlyMap<number, readonly number[]> | undefined;
  return {
    findClosingBracket(open) {
      brackets ??= pairBrackets(source);
      return brackets.get(open);
    },
    findClosingTicks(from, length) {
      ticks ??= indexTicks(source);
      return findFirstFrom(ticks.get(length) ?? [], from);
    },
    unclosed: new Set(),
  };
}

/** The length of the run of equal characters that starts at `at`. */
export function countRepeats(source: string, at: number): number {
  let end = at;
  while (source[end] === source[at] && end < source.length) end += 1;
  return end - at;
}

/** Maps each opening bracket to its closing one, within a paragraph. */
function pairBrackets(source: string): ReadonlyMap<number, number> {
  const pairs = new Map<number, number>();
  let open: number[] = [];
  for (let at = 0; at < source.length; at += 1) {
    const char = source[at];
    if (char === "\\") at += 1;
    else if (char === "[") open.push(at);
    else if (char === "\n" && source[at + 1] === "\n") open = [];
    else if (char === "]") {
      const opened = open.pop();
      if (opened !== undefined) pairs.set(opened, at);
    }
  }
  return pairs;
}

/** The offsets of runs of backticks, by their length. */
function indexTicks(source: string): ReadonlyMap<number, readonly number[]> {
  const runs = new Map<number, number[]>();
  for (let at = source.indexOf("`"); at >= 0; at = source.indexOf("`", at)) {
    const length = countRepeats(source, at);
    const known = runs.get(length);
    if (known === undefined) runs.set(length, [at]);
    else known.push(at);
    at += length;
  }
  return runs;
}

function findFirstFrom(offsets: readonly number[], from: number): number | undefined {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  return offsets[low];
}
