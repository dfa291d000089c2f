/** Where the marks of one text are closed. Each is looked for once: looking again from every mark would take ever longer. */
export interface MarkIndex {
  /** The bracket that closes the one at `open`. */
  findClosingBracket(open: number): number | undefined;
  /** The next run of exactly so many backticks, at `from` or later. */
  findClosingTicks(from: number, ticks: number): number | undefined;
  /** Marks of emphasis that nothing closes from here on. */
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

/** How often the character at this place is repeated there. */
export function countRepeats(source: string, at: number): number {
  let end = at;
  while (source[end] === source[at] && end < source.length) end += 1;
  return end - at;
}

/** Each bracket that opens, with the one that closes it. None reaches into another paragraph. */
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

/** Where runs of backticks begin, by their length. */
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

function findFirstFrom(places: readonly number[], from: number): number | undefined {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  return places[low];
}
