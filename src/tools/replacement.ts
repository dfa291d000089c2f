export interface Wanted {
  readonly old: string;
  readonly new: string;
  readonly all: boolean;
}

export interface Patched {
  readonly after: string;
  /** Where the old text stood, as it stood there, in order. */
  readonly places: readonly Place[];
}

export interface Place {
  readonly from: number;
  readonly to: number;
  readonly becomes: string;
}

export type Unpatched = { readonly wrong: "empty" | "same" | "absent" | { readonly times: number } };

/**
 * The text with another in place of this one. Whoever reads a file does not see how its lines end, nor whether the last one
 * does: both are taken from the file.
 */
export function patched(before: string, wanted: Wanted): Patched | Unpatched {
  if (wanted.old === "") return { wrong: "empty" };
  const endings = isWindows(before)
    ? [crlf(wanted)]
    : [wanted, ...(before.includes("\r\n") ? [crlf(wanted)] : [])];
  const forms = [...endings, ...endings.flatMap((form) => unended(before, form))];
  const form = forms.find(({ old }) => before.includes(old));
  if (form === undefined) return { wrong: "absent" };
  if (form.old === form.new) return { wrong: "same" };
  const { all } = wanted;
  const at = positions(before, form.old, all);
  if (!all && at.length > 1) return { wrong: { times: at.length } };
  const places = at.map((from) => ({ from, to: from + form.old.length, becomes: form.new }));
  return { after: replaced(before, places), places };
}

function isWindows(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function crlf(wanted: Wanted): Wanted {
  const ended = (text: string): string => text.replaceAll(/\r?\n/g, "\r\n");
  return { ...wanted, old: ended(wanted.old), new: ended(wanted.new) };
}

/** At the end of a file whose last line does not end, neither does it in what was given. */
function unended(before: string, wanted: Wanted): readonly Wanted[] {
  const without = (text: string): string => text.replace(/\r?\n$/, "");
  const old = without(wanted.old);
  const isLast =
    old !== wanted.old &&
    old !== "" &&
    before.endsWith(old) &&
    before.indexOf(old) === before.length - old.length;
  return isLast ? [{ ...wanted, old, new: without(wanted.new) }] : [];
}

/** Every place where it stands. Which of two that overlap is meant, nobody knows: unless all are, both count. */
function positions(text: string, old: string, all: boolean): readonly number[] {
  const found: number[] = [];
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + (all ? old.length : 1)))
    found.push(at);
  return found;
}

function replaced(before: string, places: readonly Place[]): string {
  const pieces: string[] = [];
  let done = 0;
  for (const { from, to, becomes } of places) {
    pieces.push(before.slice(done, from), becomes);
    done = to;
  }
  return [...pieces, before.slice(done)].join("");
}
