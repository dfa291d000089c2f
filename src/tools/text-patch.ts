import { findText, hasText } from "./find-text.ts";

export interface TextPatch {
  readonly old: string;
  readonly new: string;
  readonly all: boolean;
}

export interface PatchedText {
  readonly after: string;
  /** Where the old text stood, as it stood there, in order. */
  readonly replacements: readonly TextReplacement[];
}

export interface TextReplacement {
  readonly from: number;
  readonly to: number;
  readonly becomes: string;
}

/** More places than this are not counted: to say that a text is ambiguous, it is enough. */
export const MAX_COUNTED_MATCHES = 100;

export type PatchFailure = { readonly wrong: "empty" | "same" | "absent" | { readonly times: number } };

/**
 * The text with another in place of this one. Whoever reads a file does not see how its lines end, nor whether the last one
 * does: both are taken from the file.
 */
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
  // Which of two that overlap is meant, nobody knows: unless all are, both count.
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

/** At the end of a file whose last line does not end, neither does it in what was given. */
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

/** The text from `begin` to `end`, with what stands in each place replaced. */
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
