/**
 * Splits text into search terms. All stores index exactly these terms and all queries consist of them, so results do not
 * depend on a database's tokenizer.
 */

/** Only the start of a longer text is searchable, so that a pasted log does not dominate the index. */
export const MAX_INDEXED_CHARS: number = 256 * 1024;

/**
 * A term is a run of letters and digits. In scripts without spaces each code point is a term and a query is a phrase of them,
 * which finds any substring. A very long word becomes several consecutive terms, and a phrase still finds it exactly.
 */
export function extractTerms(text: string): string[] {
  const head = limitIndexed(text);
  const terms: string[] = [];
  let done = 0;
  // Folding takes five times as long as reading ASCII, and most texts contain only few other characters.
  for (let nonAscii = findNonAscii(head, 0); nonAscii >= 0; nonAscii = findNonAscii(head, done)) {
    const start = findWordStart(head, nonAscii, done);
    const end = findStretchEnd(head, nonAscii);
    pushAll(terms, matchAsciiTerms(head.slice(done, start)));
    pushAll(terms, foldText(head.slice(start, end)).match(TERM));
    done = end;
  }
  const rest = matchAsciiTerms(done === 0 ? head : head.slice(done));
  if (done === 0) return rest ?? [];
  pushAll(terms, rest);
  return terms;
}

/** The text that a store indexes: the terms, separated by spaces. */
export function buildIndexText(text: string): string {
  return extractTerms(text).join(" ");
}

/** A term and its part of the original text: `text.slice(start, end)`. */
export interface TermOffset {
  readonly term: string;
  readonly start: number;
  readonly end: number;
}

/** The same terms with their offsets. Slower, for snippets. */
export function extractTermOffsets(text: string): TermOffset[] {
  const head = limitIndexed(text);
  if (findNonAscii(head, 0) < 0) {
    return Array.from(head.toLowerCase().matchAll(ASCII_TERM), ({ 0: term, index }) => {
      return { term, start: index, end: index + term.length };
    });
  }
  // Folding changes lengths (ﬁ is two letters, é may be two characters), so each cluster is folded separately and its
  // offsets are recorded.
  let all = "";
  const starts: number[] = [];
  const ends: number[] = [];
  for (const { 0: cluster, index } of head.matchAll(CLUSTER)) {
    const piece = isPlain(cluster) ? cluster.toLowerCase() : foldText(cluster);
    for (let i = 0; i < piece.length; i++) {
      starts.push(index);
      ends.push(index + cluster.length);
    }
    all += piece;
  }
  return Array.from(all.matchAll(TERM), ({ 0: term, index }) => {
    return { term, start: starts[index] ?? 0, end: ends[index + term.length - 1] ?? head.length };
  });
}

/** A character that folding at most lower-cases: ASCII and the common ideographs. */
function isPlain(cluster: string): boolean {
  const code = cluster.charCodeAt(0);
  return cluster.length === 1 && (code < 0x80 || (code >= 0x4e00 && code <= 0x9fff));
}

function limitIndexed(text: string): string {
  return text.length > MAX_INDEXED_CHARS ? text.slice(0, MAX_INDEXED_CHARS) : text;
}

function matchAsciiTerms(text: string): string[] | null {
  return text.toLowerCase().match(ASCII_TERM);
}

function pushAll(terms: string[], more: readonly string[] | null): void {
  if (more !== null) for (const term of more) terms.push(term);
}

function findNonAscii(text: string, index: number): number {
  NON_ASCII.lastIndex = index;
  return NON_ASCII.test(text) ? NON_ASCII.lastIndex - 1 : -1;
}

function findWordStart(text: string, index: number, from: number): number {
  let start = index;
  while (start > from && isAsciiWord(text.charCodeAt(start - 1))) start--;
  return start;
}

/** The end of the last word with non-ASCII characters before a long run of ASCII. Fewer, longer folds are faster. */
function findStretchEnd(text: string, from: number): number {
  let last = from;
  for (let i = from; i < text.length && i - last < 32; i++) if (text.charCodeAt(i) > 0x7f) last = i;
  let end = last + 1;
  while (end < text.length && isWordOrNonAscii(text.charCodeAt(end))) end++;
  return end;
}

function isWordOrNonAscii(code: number): boolean {
  return code > 0x7f || isAsciiWord(code);
}

function isAsciiWord(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a);
}

/** Removes compatibility forms, case, and the accents of Latin, Greek and Cyrillic. Composes everything else. */
function foldText(text: string): string {
  return text
    .replace(INVISIBLE, "")
    .normalize("NFKD")
    .toLowerCase()
    .replace(ACCENTS, "")
    .replace(/ς/g, "σ") // Σ becomes either of them, depending on its position in the word.
    .normalize("NFC");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole ASCII range is meant
const NON_ASCII = /[^\x00-\x7f]/g;

const ASCII_TERM = /[a-z0-9]{1,256}/g;

/** Soft hyphens, joiners, direction marks and variation selectors are ignored. A zero-width space separates words. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}--\u200b]+/gv;

/** Enclosing marks are removed in any script: the keycap 1 is a 1. */
const ACCENTS = /(?<=[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])\p{M}+|\p{Me}+/gu;

/**
 * Includes Korean: it has spaces, but people search for parts of its compound words. The marks at the end belong to several
 * scripts but occur only with kana and Han.
 */
const UNSPACED = String.raw`[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Bopomofo}\p{sc=Yi}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tibetan}\p{sc=Tai_Le}\p{sc=New_Tai_Lue}\p{sc=Tai_Tham}\p{sc=Tai_Viet}\p{sc=Javanese}\p{sc=Balinese}\u3006\u3031-\u3035\u303c\u3099\u309a\u30fc]`;

/** A mark without a letter before it, such as an emoji modifier, is no term. */
const TERM = new RegExp(
  String.raw`[[\p{L}\p{N}\p{M}]&&${UNSPACED}]|[[\p{L}\p{N}]--${UNSPACED}][[\p{L}\p{N}\p{M}]--${UNSPACED}]{0,255}`,
  "gv",
);

const HANGUL = String.raw`[\u1100-\u11ff\u3130-\u318f\u3200-\u321e\u3260-\u327e\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc]`;

const FOLLOWS = String.raw`[[\p{M}\p{Default_Ignorable_Code_Point}\u0e33\u0eb3\uff9e\uff9f\u{16d63}\u{16d67}]--\u200b]`;

/** A complete Hangul syllable, unless a letter follows that normalisation could combine with it. */
const SYLLABLE = String.raw`[\uac00-\ud7a3](?![${HANGUL}--[\uac00-\ud7a3]])(?!${FOLLOWS})`;

/** A character with everything that normalisation may combine with it. Other Hangul is one run, because its letters combine. */
const CLUSTER = new RegExp(String.raw`${SYLLABLE}|${HANGUL}[${HANGUL}${FOLLOWS}]*|[\s\S]${FOLLOWS}*`, "gv");
