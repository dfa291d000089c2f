import { findClause, type SearchClause, type SearchQuery } from "./search-query.ts";
import { extractTermOffsets, type TermOffset } from "./search-terms.ts";

export interface SnippetOptions {
  /** The number of words around the best match; of characters in scripts without spaces. */
  readonly words?: number;
  /** The maximum number of characters. */
  readonly chars?: number;
}

const OPEN = ">>>";
const CLOSE = "<<<";
const ELLIPSIS = "...";

/**
 * The part of a text with the best matches: the original characters, each match between `>>>` and `<<<`, and `...` for omitted
 * text. Without a match, the start of the text.
 */
export function buildSnippet(text: string, query: SearchQuery, options: SnippetOptions = {}): string {
  const { words = 40, chars = 400 } = options;
  const terms = extractTermOffsets(text);
  const hits = findHits(terms, query);
  const core = findBestRun(hits, terms, words, chars) ?? { first: 0, last: 0 };
  const { start, end } = growRange(core, text, terms, words, chars);
  const before = text.slice(0, start).trim() === "" ? "" : ELLIPSIS;
  const after = text.slice(end).trim() === "" ? "" : ELLIPSIS;
  return `${before}${markHits(text, start, end, hits, terms)}${after}`;
}

/** The start of a message next to a match. */
export function shortenNeighbour(text: string): string {
  return text.slice(0, alignToCharacter(text, 200));
}

/** A match of a clause, as indexes of its first and last term. */
interface TermHit {
  readonly first: number;
  readonly last: number;
  readonly clause: SearchClause;
}

type TermRange = Pick<TermHit, "first" | "last">;

/** Each match is compared with its neighbours, so there is also a limit for all clauses together. */
const MAX_HITS = 2000;
const MAX_HITS_OF_CLAUSE = 500;

function findHits(terms: readonly TermOffset[], query: SearchQuery): TermHit[] {
  const plain = terms.map(({ term }) => term);
  const hits: TermHit[] = [];
  const clauses = query.alternatives.flatMap(({ required }) => required);
  const maxHits = Math.min(MAX_HITS_OF_CLAUSE, Math.ceil(MAX_HITS / Math.max(1, clauses.length)));
  for (const clause of clauses) {
    let at = findClause(clause, plain, 0);
    for (let count = 0; at >= 0 && count < maxHits; count++) {
      hits.push({ first: at, last: at + clause.terms.length - 1, clause });
      at = findClause(clause, plain, at + 1);
    }
  }
  return hits.sort((a, b) => a.first - b.first || a.last - b.last);
}

/** The run of matches that fits and contains the most different clauses. The first of equal ones. */
function findBestRun(
  hits: readonly TermHit[],
  terms: readonly TermOffset[],
  words: number,
  chars: number,
): TermRange | undefined {
  let best: TermRange | undefined;
  let most = 0;
  for (const [i, { first }] of hits.entries()) {
    const seen = new Set<SearchClause>();
    let end = first;
    for (let j = i; j < hits.length; j++) {
      const hit = hits[j];
      if (hit === undefined || hit.first >= first + words) break;
      const fits = hit.last < first + words && getEnd(terms, hit.last) - getStart(terms, first) <= chars;
      if (!fits && j > i) continue;
      seen.add(hit.clause);
      end = Math.max(end, hit.last);
    }
    if (seen.size > most) {
      most = seen.size;
      best = { first, last: end };
    }
  }
  return best;
}

/** Grows word by word to both sides while there is room, and to the ends of the text if they are near. */
function growRange(
  core: TermRange,
  text: string,
  terms: readonly TermOffset[],
  words: number,
  chars: number,
): { start: number; end: number } {
  let { first, last } = core;
  const fits = (from: number, to: number): boolean =>
    from >= 0 && to < terms.length && to - from < words && getEnd(terms, to) - getStart(terms, from) <= chars;
  for (let grew = true; grew; ) {
    grew = false;
    if (fits(first, last + 1)) {
      last++;
      grew = true;
    }
    if (fits(first - 1, last)) {
      first--;
      grew = true;
    }
  }
  const start = first === 0 && getEnd(terms, last) <= chars ? 0 : getStart(terms, first);
  const isEnd = last >= terms.length - 1 && text.length - start <= chars;
  const end = isEnd || terms.length === 0 ? text.length : getEnd(terms, last);
  return { start, end: Math.min(end, alignToCharacter(text, start + chars)) };
}

function markHits(
  text: string,
  start: number,
  end: number,
  hits: readonly TermHit[],
  terms: readonly TermOffset[],
): string {
  let result = "";
  let done = start;
  for (const span of mergeSpans(hits, terms)) {
    const from = Math.max(span.start, done);
    const to = Math.min(span.end, end);
    if (from >= to) continue;
    result += `${text.slice(done, from)}${OPEN}${text.slice(from, to)}${CLOSE}`;
    done = to;
  }
  return result + text.slice(done, end);
}

/** The matches as offsets in the text. Overlapping ones are joined: 中中 in 中中中 gets one mark, not two nested ones. */
function mergeSpans(
  hits: readonly TermHit[],
  terms: readonly TermOffset[],
): { start: number; end: number }[] {
  const result: { start: number; end: number }[] = [];
  for (const { first, last } of hits) {
    const [start, end] = [getStart(terms, first), getEnd(terms, last)];
    const previous = result.at(-1);
    if (previous !== undefined && start < previous.end) previous.end = Math.max(previous.end, end);
    else result.push({ start, end });
  }
  return result;
}

function getStart(terms: readonly TermOffset[], index: number): number {
  return terms[index]?.start ?? 0;
}

function getEnd(terms: readonly TermOffset[], index: number): number {
  return terms[index]?.end ?? 0;
}

/** The offset at or before `at` that does not split a surrogate pair. */
function alignToCharacter(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const code = text.charCodeAt(at);
  const previous = text.charCodeAt(at - 1);
  return code >= 0xdc00 && code <= 0xdfff && previous >= 0xd800 && previous <= 0xdbff ? at - 1 : at;
}
