import { findText, hasText } from "./find-text.ts";

export interface TextPatch {
  readonly old: string;
  readonly new: string;
  readonly all: boolean;
}

export interface PatchedText {
  readonly after: string;
  /** The replaced ranges of the old text, in order. */
  readonly replacements: readonly TextReplacement[];
}

export interface TextReplacement {
  readonly from: number;
  readonly to: number;
  readonly becomes: string;
}

/** Occurrences are counted up to here, which is enough for the error text. */
export const MAX_COUNTED_MATCHES = 100;

export type PatchFailure = { readonly wrong: "empty" | "same" | "absent" | { readonly times: number } };

/** Replaces a text. Line endings, and the end of the last line, follow the file, because a reader does not see them. */
export function applyTextPatch(before: string, wanted: TextPatch): PatchedText | PatchFailure {
  if (wanted.old === "") return { wrong: "empty" };
  const endings = hasOnlyCrlf(before)
    ? [toCrlf(wanted)]
    : [wanted, ...(before.includes("\r\n") ? [toCrlf(wanted)] : [])];
  const forms = [...endings, ...endings.flatMap((form) => dropFinalNewline(before, form))];
  const form = forms.find(({ old }) => hasText(before, old));
  if (form === undefined) return { wrong: "absent" };
  if (form.old === form.new) return { wrong: "same" };
  const { all } = wanted;
  // Overlapping occurrences are ambiguous, unless all are replaced.
  const at = findText(before, form.old, { most: all ? Infinity : MAX_COUNTED_MATCHES, overlapping: !all });
  if (!all && at.length > 1) return { wrong: { times: at.length } };
  const places = at.map((from) => ({ from, to: from + form.old.length, becomes: form.new }));
  return { after: replaceBetween(before, places, 0, before.length), replacements: places };
}

function hasOnlyCrlf(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function toCrlf(wanted: TextPatch): TextPatch {
  const ended = (text: string): string => text.replaceAll(/\r?\n/g, "\r\n");
  return { ...wanted, old: ended(wanted.old), new: ended(wanted.new) };
}

/** At the end of a file without a final line break, the arguments lose theirs too. */
function dropFinalNewline(before: string, wanted: TextPatch): readonly TextPatch[] {
  const without = (text: string): string => text.replace(/\r?\n$/, "");
  const old = without(wanted.old);
  const isLast =
    old !== wanted.old &&
    old !== "" &&
    before.endsWith(old) &&
    findText(before, old, { most: 1, overlapping: false })[0] === before.length - old.length;
  return isLast ? [{ ...wanted, old, new: without(wanted.new) }] : [];
}

/** The text from `begin` to `end` with all replacements. */
export function replaceBetween(
  before: string,
  places: readonly TextReplacement[],
  begin: number,
  end: number,
): string {
  const pieces: string[] = [];
  let done = begin;
  for (const { from, to, becomes } of places) {
    pieces.push(before.slice(done, from), becomes);
    done = to;
  }
  pieces.push(before.slice(done, end));
  return pieces.join("");
}
