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
export function applyTextPatch(before: string, patch: TextPatch): PatchedText | PatchFailure {
  if (patch.old === "") return { wrong: "empty" };
  const endings = hasOnlyCrlf(before)
    ? [toCrlf(patch)]
    : [patch, ...(before.includes("\r\n") ? [toCrlf(patch)] : [])];
  const forms = [...endings, ...endings.flatMap((form) => dropFinalNewline(before, form))];
  const form = forms.find(({ old }) => hasText(before, old));
  if (form === undefined) return { wrong: "absent" };
  if (form.old === form.new) return { wrong: "same" };
  const { all } = patch;
  // Overlapping occurrences are ambiguous, unless all are replaced.
  const at = findText(before, form.old, { limit: all ? Infinity : MAX_COUNTED_MATCHES, overlapping: !all });
  if (!all && at.length > 1) return { wrong: { times: at.length } };
  const replacements = at.map((from) => ({ from, to: from + form.old.length, becomes: form.new }));
  return { after: replaceBetween(before, replacements, 0, before.length), replacements };
}

function hasOnlyCrlf(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function toCrlf(patch: TextPatch): TextPatch {
  const useCrlf = (text: string): string => text.replaceAll(/\r?\n/g, "\r\n");
  return { ...patch, old: useCrlf(patch.old), new: useCrlf(patch.new) };
}

/** At the end of a file without a final line break, the arguments lose theirs too. */
function dropFinalNewline(before: string, patch: TextPatch): readonly TextPatch[] {
  const without = (text: string): string => text.replace(/\r?\n$/, "");
  const old = without(patch.old);
  const isLast =
    old !== patch.old &&
    old !== "" &&
    before.endsWith(old) &&
    findText(before, old, { limit: 1, overlapping: false })[0] === before.length - old.length;
  return isLast ? [{ ...patch, old, new: without(patch.new) }] : [];
}

/** The text from `begin` to `end` with all replacements. */
export function replaceBetween(
  before: string,
  replacements: readonly TextReplacement[],
  begin: number,
  end: number,
): string {
  const pieces: string[] = [];
  let done = begin;
  for (const { from, to, becomes } of replacements) {
    pieces.push(before.slice(done, from), becomes);
    done = to;
  }
  pieces.push(before.slice(done, end));
  return pieces.join("");
}
