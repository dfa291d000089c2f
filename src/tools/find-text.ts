/** Finds up to `most` positions of a text. Knuth–Morris–Pratt, because `indexOf` is quadratic for repetitive texts. */
export function findText(
  text: string,
  pattern: string,
  { limit, overlapping }: { readonly limit: number; readonly overlapping: boolean },
): readonly number[] {
  if (pattern === "" || pattern.length > text.length) return [];
  const restart = buildRestartTable(pattern);
  const found: number[] = [];
  let matched = 0;
  for (let at = 0; at < text.length && found.length < limit; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && code !== pattern.charCodeAt(matched)) matched = restart[matched - 1] ?? 0;
    if (code === pattern.charCodeAt(matched)) matched += 1;
    if (matched < pattern.length) continue;
    found.push(at + 1 - pattern.length);
    matched = overlapping ? (restart[matched - 1] ?? 0) : 0;
  }
  return found;
}

export function hasText(text: string, pattern: string): boolean {
  return findText(text, pattern, { limit: 1, overlapping: false }).length > 0;
}

/** The KMP failure table. */
function buildRestartTable(pattern: string): Int32Array {
  const restart = new Int32Array(pattern.length);
  let matched = 0;
  for (let at = 1; at < pattern.length; at += 1) {
    const code = pattern.charCodeAt(at);
    while (matched > 0 && code !== pattern.charCodeAt(matched)) matched = restart[matched - 1] ?? 0;
    if (code === pattern.charCodeAt(matched)) matched += 1;
    restart[at] = matched;
  }
  return restart;
}
