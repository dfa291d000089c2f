import type { ShellScript, ShellWord } from "./shell-script.ts";

/** Private-use characters that mark parts of a text during the analysis. They are removed from the command first. */
export const MARK = {
  open: "\uE000",
  comma: "\uE001",
  close: "\uE002",
  /** An unknown part that the command computes: quoted, and unquoted. */
  made: "\uE003",
  madeSplit: "\uE004",
  /** An unknown part that comes from the environment. */
  inherited: "\uE005",
  inheritedSplit: "\uE006",
} as const;

const ANY = /[\uE000-\uE00F]/g;
const UNKNOWN = /[\uE003-\uE006]/;

/** Removes marks from the command. */
export function removeMarks(source: string): string {
  return source.replace(ANY, "?");
}

/** Marks unknown parts as quoted or unquoted: only unquoted ones may become several words. */
export function markSplit(value: string): string {
  return value.replaceAll(MARK.made, MARK.madeSplit).replaceAll(MARK.inherited, MARK.inheritedSplit);
}

export function markQuoted(value: string): string {
  return value.replaceAll(MARK.madeSplit, MARK.made).replaceAll(MARK.inheritedSplit, MARK.inherited);
}

/** Turns a marked text into a word. */
export function toWord(marked: string, inside: readonly ShellScript[]): ShellWord {
  const text = toPlainText(marked);
  if (!UNKNOWN.test(marked)) return { text, substitutions: inside };
  const isMade = marked.includes(MARK.made) || marked.includes(MARK.madeSplit);
  const isSplit = marked.includes(MARK.madeSplit) || marked.includes(MARK.inheritedSplit);
  const hasUnknownName = UNKNOWN.test(marked.slice(marked.lastIndexOf("/") + 1));
  return {
    text,
    substitutions: inside,
    unknown: isMade ? "made" : "inherited",
    ...(isSplit && { isSplit }),
    ...(hasUnknownName && { hasUnknownName }),
    markedText: marked.replace(/[\uE000-\uE002]/g, toPlainText),
  };
}

export function toPlainText(marked: string): string {
  return marked.replace(ANY, (mark) =>
    mark === MARK.open ? "{" : mark === MARK.comma ? "," : mark === MARK.close ? "}" : "",
  );
}
