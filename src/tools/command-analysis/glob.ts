const WILD = /[*?[\uE003-\uE006]/;
const MAX_LENGTH = 256;

export function isGlob(text: string): boolean {
  return WILD.test(text);
}

/** Whether a pattern may match a name. As in a shell, only a dot matches a leading dot. */
export function canMatchName(pattern: string, name: string): boolean {
  if (!isGlob(pattern)) return pattern === name;
  if (pattern.length > MAX_LENGTH || pattern.includes("(")) return true;
  if (name.startsWith(".") && /^[*?[]/.test(pattern)) return false;
  return matchFrom(pattern, name);
}

/** Matches with one backtrack position: the time is at most the product of both lengths. */
function matchFrom(pattern: string, name: string): boolean {
  let at = 0;
  let seen = 0;
  let star = -1;
  let resume = 0;
  while (seen < name.length) {
    const sign = pattern[at];
    const length = sign === undefined ? 0 : matchOne(pattern, at, name[seen] ?? "");
    if (sign !== undefined && isAny(sign)) {
      star = at;
      resume = seen;
      at += 1;
    } else if (length > 0) {
      at += length;
      seen += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      seen = resume;
    } else return false;
  }
  while (isAny(pattern[at] ?? "")) at += 1;
  return at >= pattern.length;
}

function isAny(sign: string): boolean {
  return sign === "*" || /^[\uE003-\uE006]$/.test(sign);
}

/** The length of the pattern part that matches one character; 0 for no match. */
function matchOne(pattern: string, at: number, character: string): number {
  const sign = pattern[at];
  if (sign === "?") return 1;
  if (sign === "[") {
    const end = pattern.indexOf("]", at + 2);
    if (end > 0) return isInSet(pattern.slice(at + 1, end), character) ? end - at + 1 : 0;
  }
  return sign === character ? 1 : 0;
}

/** Classes such as `[:alpha:]` count as a match. */
function isInSet(set: string, character: string): boolean {
  if (set.includes("[:") || set.includes("[.") || set.includes("[=")) return true;
  const isNegated = /^[!^]/.test(set);
  const signs = isNegated ? set.slice(1) : set;
  let isIn = false;
  for (let at = 0; at < signs.length; at += 1) {
    const from = signs[at] ?? "";
    const to = signs[at + 1] === "-" ? (signs[at + 2] ?? "-") : from;
    if (from <= character && character <= to) isIn = true;
    if (to !== from) at += 2;
  }
  return isIn !== isNegated;
}

/** Whether a path pattern may match this path or one below it. */
export function canMatchInside(pattern: readonly string[], path: readonly string[]): boolean {
  const deep = pattern.indexOf("**");
  if (deep >= 0 && deep < path.length) return matchesUpTo(pattern, path, deep);
  return pattern.length >= path.length && matchesUpTo(pattern, path, path.length);
}

/** Whether a path pattern may match a parent of this path. */
export function canMatchAbove(pattern: readonly string[], path: readonly string[]): boolean {
  return pattern.length < path.length && matchesUpTo(pattern, path, pattern.length);
}

function matchesUpTo(pattern: readonly string[], path: readonly string[], count: number): boolean {
  for (let at = 0; at < count; at += 1) if (!canMatchName(pattern[at] ?? "", path[at] ?? "")) return false;
  return true;
}
