/** Finds up to `most` positions of a text. Knuth–Morris–Pratt, because `indexOf` is quadratic for repetitive texts. */
export function findText(
  text: string,
  wanted: string,
  { most, overlapping }: { readonly most: number; readonly overlapping: boolean },
): readonly number[] {
  if (wanted === "" || wanted.length > text.length) return [];
  const restart = buildRestartTable(wanted);
  const found: number[] = [];
  let matched = 0;
  for (let at = 0; at < text.length && found.length < most; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && code !== wanted.charCodeAt(matched)) matched = restart[matched - 1] ?? 0;
    if (code === wanted.charCodeAt(matched)) matched += 1;
    if (matched < wanted.length) continue;
    found.push(at + 1 - wanted.length);
    matched = overlapping ? (restart[matched - 1] ?? 0) : 0;
  }
  return found;
}

export function hasText(text: string, wanted: string): boolean {
  return findText(text, wanted, { most: 1, overlapping: false }).length > 0;
}

/** The KMP failure table. */
function buildRestartTable(wanted: string): Int32Array {
  const restart = new Int32Array(wanted.length);
  let matched = 0;
  for (let at = 1; at < wanted.length; at += 1) {
    const code = wanted.charCodeAt(at);
    while (matched > 0 && code !== wanted.charCodeAt(matched)) matched = restart[matched - 1] ?? 0;
    if (code === wanted.charCodeAt(matched)) matched += 1;
    restart[at] = matched;
  }
  return restart;
}
