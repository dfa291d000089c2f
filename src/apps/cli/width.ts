/**
 * The number of terminal columns of a text. It uses ranges, because an ICU segmenter starts too slowly. Where terminals
 * differ, it returns the larger width, so that a line never wraps.
 */
export function measureWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { columns } of splitClusters(text)) width += columns;
  return width;
}

/** Cuts a text to a width, with an ellipsis. It never splits a character. */
export function cutToWidth(text: string, width: number): string {
  if (text.length <= width && PLAIN.test(text)) return text;
  if (width <= 0) return "";
  let end = 0;
  let taken = 0;
  for (const { to, columns } of splitClusters(text)) {
    taken += columns;
    if (taken > width) return `${text.slice(0, end)}…`;
    // The ellipsis needs a column, unless everything fits.
    if (taken < width) end = to;
  }
  return text;
}

/** Pads a text with spaces to a width. */
export function padToWidth(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - measureWidth(text)));
}

const PLAIN = /^[ -~]*$/;

/** A grapheme cluster: a character with its accents and joined code points. */
interface Cluster {
  readonly from: number;
  readonly to: number;
  readonly columns: number;
}

function* splitClusters(text: string): Generator<Cluster> {
  let from = 0;
  let columns = 0;
  let before = 0;
  let at = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const joins = at > from && isJoined(before, code, columns);
    if (!joins && at > from) {
      yield { from, to: at, columns };
      from = at;
      columns = 0;
    }
    // A code point that joins an emoji has no width of its own.
    if (!joins) columns = getCodePointWidth(code);
    else if (code === EMOJI_VARIATION || isFlagHalf(code) || code === KEYCAP) columns = 2;
    before = code;
    at += character.length;
  }
  if (at > from) yield { from, to: at, columns };
}

const ZERO_WIDTH_JOINER = 0x200d;
/** Variation selector 16: show the previous code point as an emoji. */
const EMOJI_VARIATION = 0xfe0f;
const KEYCAP = 0x20e3;

function isJoined(before: number, code: number, columns: number): boolean {
  if (before === ZERO_WIDTH_JOINER && columns === 2) return isEmoji(code);
  if (isFlagHalf(code)) return isFlagHalf(before) && columns === 1;
  if (code >= 0x1f3fb && code <= 0x1f3ff) return columns === 2 && before > 0x2000;
  return isZeroWidth(code);
}

function isFlagHalf(code: number): boolean {
  return code >= 0x1f1e6 && code <= 0x1f1ff;
}

function isEmoji(code: number): boolean {
  return (code >= 0x2190 && code <= 0x2bff) || (code >= 0x1f000 && code <= 0x1faff);
}

function getCodePointWidth(code: number): number {
  if (code < 0x300) return 1;
  if (isZeroWidth(code)) return 0;
  return isInRanges(WIDE, code) ? 2 : 1;
}

const ZERO_WIDTH = /^(?:\p{Mn}|\p{Me}|\p{Cf}|[\u1160-\u11ff\ud7b0-\ud7fb])$/u;

function isZeroWidth(code: number): boolean {
  return code >= 0x300 && ZERO_WIDTH.test(String.fromCodePoint(code));
}

/** First and last of each range with two columns: East Asian Wide and Fullwidth, and emoji. */
const WIDE: readonly number[] = [
  0x1100, 0x115f, 0x231a, 0x231b, 0x2329, 0x232a, 0x23e9, 0x23ec, 0x23f0, 0x23f0, 0x23f3, 0x23f3, 0x25fd,
  0x25fe, 0x2614, 0x2615, 0x2630, 0x2637, 0x2648, 0x2653, 0x267f, 0x267f, 0x268a, 0x268f, 0x2693, 0x2693,
  0x26a1, 0x26a1, 0x26aa, 0x26ab, 0x26bd, 0x26be, 0x26c4, 0x26c5, 0x26ce, 0x26ce, 0x26d4, 0x26d4, 0x26ea,
  0x26ea, 0x26f2, 0x26f3, 0x26f5, 0x26f5, 0x26fa, 0x26fa, 0x26fd, 0x26fd, 0x2705, 0x2705, 0x270a, 0x270b,
  0x2728, 0x2728, 0x274c, 0x274c, 0x274e, 0x274e, 0x2753, 0x2755, 0x2757, 0x2757, 0x2795, 0x2797, 0x27b0,
  0x27b0, 0x27bf, 0x27bf, 0x2b1b, 0x2b1c, 0x2b50, 0x2b50, 0x2b55, 0x2b55, 0x2e80, 0x303e, 0x3041, 0xa4cf,
  0xa960, 0xa97c, 0xac00, 0xd7a3, 0xf900, 0xfaff, 0xfe10, 0xfe19, 0xfe30, 0xfe6f, 0xff01, 0xff60, 0xffe0,
  0xffe6, 0x16fe0, 0x18dff, 0x1aff0, 0x1b2ff, 0x1d300, 0x1d376, 0x1f004, 0x1f004, 0x1f0cf, 0x1f0cf, 0x1f18e,
  0x1f18e, 0x1f191, 0x1f19a, 0x1f200, 0x1f265, 0x1f300, 0x1faff, 0x20000, 0x3fffd,
];

function isInRanges(ranges: readonly number[], code: number): boolean {
  let low = 0;
  let high = ranges.length / 2 - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (code < (ranges[2 * middle] ?? 0)) high = middle - 1;
    else if (code > (ranges[2 * middle + 1] ?? 0)) low = middle + 1;
    else return true;
  }
  return false;
}
