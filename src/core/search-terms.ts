/**
 * How text becomes search terms. Every store indexes exactly these and every query is made of them, so that no
 * database's own idea of a word decides what is found.
 */

/** Only the beginning of a longer text is searchable: a pasted log must not outgrow everything people said. */
export const MAX_INDEXED_CHARS: number = 256 * 1024;

/**
 * Words are letters and digits. In a script that puts no spaces between words each code point, vowel signs and
 * tone marks included, is a term by itself and a query a phrase of them, which finds any substring. A longer
 * word (base64, a hash chain) is several terms in a row: stores have limits, and as a phrase it is still exact.
 */
export function extractTerms(text: string): string[] {
  const head = limitIndexed(text);
  const terms: string[] = [];
  let done = 0;
  // Folding costs five times as much as reading ASCII, and most texts are ASCII but for a dash or an emoji.
  for (let strange = findNonAscii(head, 0); strange >= 0; strange = findNonAscii(head, done)) {
    const start = findWordStart(head, strange, done);
    const end = findStretchEnd(head, strange);
    pushAll(terms, matchAsciiTerms(head.slice(done, start)));
    pushAll(terms, foldText(head.slice(start, end)).match(TERM));
    done = end;
  }
  const rest = matchAsciiTerms(done === 0 ? head : head.slice(done));
  if (done === 0) return rest ?? [];
  pushAll(terms, rest);
  return terms;
}

/** What a store gives to its index: the terms, one space between. */
export function buildIndexText(text: string): string {
  return extractTerms(text).join(" ");
}

/** A term and the part of the original text it was made from: `text.slice(start, end)`. */
export interface TermOffset {
  readonly term: string;
  readonly start: number;
  readonly end: number;
}

/** The same terms in the same order, with their places; slower, for snippets. */
export function extractTermOffsets(text: string): TermOffset[] {
  const head = limitIndexed(text);
  if (findNonAscii(head, 0) < 0) {
    return Array.from(head.toLowerCase().matchAll(ASCII_TERM), ({ 0: term, index }) => {
      return { term, start: index, end: index + term.length };
    });
  }
  // Folding changes lengths (ﬁ is two letters, é may be two characters), so each cluster is folded alone and
  // remembers where its characters came from.
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

/** One character for which folding is lower case at most: ASCII, and the common ideographs. */
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

/** Past the last character that is not ASCII, and its word, before a long run of ASCII: each fold has its price. */
function findStretchEnd(text: string, from: number): number {
  let last = from;
  for (let i = from; i < text.length && i - last < 32; i++) if (text.charCodeAt(i) > 0x7f) last = i;
  let end = last + 1;
  while (end < text.length && isWordOrStrange(text.charCodeAt(end))) end++;
  return end;
}

function isWordOrStrange(code: number): boolean {
  return code > 0x7f || isAsciiWord(code);
}

function isAsciiWord(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a);
}

/** Compatibility forms, case and the accents of Latin, Greek and Cyrillic off; everything else composed. */
function foldText(text: string): string {
  return text
    .replace(INVISIBLE, "")
    .normalize("NFKD")
    .toLowerCase()
    .replace(ACCENTS, "")
    .replace(/ς/g, "σ") // Σ becomes either, by its place in the word.
    .normalize("NFC");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole ASCII range is meant
const NON_ASCII = /[^\x00-\x7f]/g;

const ASCII_TERM = /[a-z0-9]{1,256}/g;

/** Soft hyphens, joiners, direction marks and variation selectors change no word; a zero-width space ends one. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}--\u200b]+/gv;

/** Enclosing marks go in any script: the 1 on a keycap is a 1. */
const ACCENTS = /(?<=[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])\p{M}+|\p{Me}+/gu;

/**
 * Korean has spaces, but puts particles at the end of words and words together: whoever looks for one looks for a part.
 * The marks and signs at the end are shared by several scripts but written only with kana and Han.
 */
const UNSPACED = String.raw`[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Bopomofo}\p{sc=Yi}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tibetan}\p{sc=Tai_Le}\p{sc=New_Tai_Lue}\p{sc=Tai_Tham}\p{sc=Tai_Viet}\p{sc=Javanese}\p{sc=Balinese}\u3006\u3031-\u3035\u303c\u3099\u309a\u30fc]`;

/** A mark without a letter before it, such as the one that colours an emoji, is no term. */
const TERM = new RegExp(
  String.raw`[[\p{L}\p{N}\p{M}]&&${UNSPACED}]|[[\p{L}\p{N}]--${UNSPACED}][[\p{L}\p{N}\p{M}]--${UNSPACED}]{0,255}`,
  "gv",
);

const HANGUL = String.raw`[\u1100-\u11ff\u3130-\u318f\u3200-\u321e\u3260-\u327e\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc]`;

const FOLLOWS = String.raw`[[\p{M}\p{Default_Ignorable_Code_Point}\u0e33\u0eb3\uff9e\uff9f\u{16d63}\u{16d67}]--\u200b]`;

/** A whole syllable of Hangul, if no letter follows that could melt into it. */
const SYLLABLE = String.raw`[\uac00-\ud7a3](?![${HANGUL}--[\uac00-\ud7a3]])(?!${FOLLOWS})`;

/** A character with what may melt into it when normalised; other Hangul as a run, for its letters melt. */
const CLUSTER = new RegExp(String.raw`${SYLLABLE}|${HANGUL}[${HANGUL}${FOLLOWS}]*|[\s\S]${FOLLOWS}*`, "gv");
