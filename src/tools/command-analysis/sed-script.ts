/** The side effects of a sed script. */
export interface SedEffects {
  readonly runs: readonly string[];
  readonly writes: readonly string[];
  readonly reads: readonly string[];
}

/** Parses a sed script like GNU sed, in linear time. */
export function readSed(source: string): SedEffects {
  const runs: string[] = [];
  const writes: string[] = [];
  const reads: string[] = [];
  let at = 0;
  const readLine = (): string => {
    const end = source.indexOf("\n", at);
    const text = source.slice(at, end < 0 ? source.length : end);
    at = end < 0 ? source.length : end;
    return text.trim();
  };
  const until = (mark: string): string => {
    const start = at;
    while (at < source.length && source[at] !== mark) at += source[at] === "\\" ? 2 : 1;
    const text = source.slice(start, at);
    at += 1;
    return text;
  };
  while (at < source.length) {
    const c = source[at] ?? "";
    at += 1;
    if (/[\s;{}!,+~$\d]/.test(c)) continue;
    if (c === "/") until("/");
    else if (c === "\\") {
      at += 1;
      until(source[at - 1] ?? "/");
    } else if (c === "s") {
      const mark = source[at] ?? "/";
      at += 1;
      until(mark);
      const replacement = until(mark);
      const flags = /^[gpiImMe\d]*/.exec(source.slice(at, at + 16))?.[0] ?? "";
      at += flags.length;
      if (flags.includes("e")) runs.push(replacement);
      if (source[at] === "w") {
        at += 1;
        writes.push(readLine());
      }
    } else if (c === "y") {
      const mark = source[at] ?? "/";
      at += 1;
      until(mark);
      until(mark);
    } else if (c === "e") runs.push(readLine() || "$input");
    else if (c === "w" || c === "W") writes.push(readLine());
    else if (c === "r" || c === "R") reads.push(readLine());
    else if (/[aic#:btT]/.test(c)) {
      if (/[btT:]/.test(c)) while (at < source.length && !/[;\n}]/.test(source[at] ?? "")) at += 1;
      else readLine();
    }
  }
  return { runs, writes, reads };
}
