import { advanceFence, type OpenFence } from "../../../core/split-text.ts";

/** A chunk of this length ends at the next empty line. */
const TARGET_LENGTH = 2000;
/** A chunk without an empty line ends here, because the Markdown parser takes more than linear time. */
const MAX_LENGTH = 4000;
/** A code block is cheap to parse and is split only when it is longer than this. */
const MAX_CODE_LENGTH = 16_000;
/** The Markdown parser recurses for every quote level. */
const DEEP_QUOTE = /^((?: {0,3}>[ \t]?){6})(?: {0,3}>[ \t]?)+/gm;

/** Splits growing Markdown into chunks, so that only the last one is parsed again. */
export interface MarkdownChunks {
  /** Returns the chunks that are complete now, and the one that still grows. */
  add(text: string): { readonly whole: readonly string[]; readonly growing: string };
}

export function markdownChunks(): MarkdownChunks {
  let rest = "";
  return {
    add(text) {
      rest += text;
      const whole: string[] = [];
      for (let cut = findNextCut(rest); cut !== undefined; cut = findNextCut(rest)) {
        const { end, open } = cut;
        whole.push(
          flattenQuotes(open === undefined ? rest.slice(0, end) : `${rest.slice(0, end)}\n${open.mark}`),
        );
        rest = open === undefined ? rest.slice(end) : `${open.line}\n${rest.slice(end)}`;
      }
      return { whole, growing: flattenQuotes(rest) };
    },
  };
}

interface Cut {
  readonly end: number;
  /** A code block that continues after the split. */
  readonly open?: OpenFence;
}

/** The end of the first chunk; undefined while more text may belong to it. */
function findNextCut(text: string): Cut | undefined {
  if (text.length <= TARGET_LENGTH) return undefined;
  const window = text.slice(0, MAX_CODE_LENGTH + 1);
  let open: OpenFence | undefined;
  /** The start of the line that opened the block. */
  let opened = 0;
  let at = 0;
  while (at < window.length) {
    const next = window.indexOf("\n", at) + 1;
    const line = window.slice(at, next === 0 ? undefined : next - 1);
    const end = at + line.length;
    if (open === undefined && end > MAX_LENGTH) return { end: at > 0 ? at : findBreak(window) };
    if (open !== undefined && opened > 0 && end > MAX_LENGTH) return { end: opened };
    if (open !== undefined && end > MAX_CODE_LENGTH)
      return at > open.from ? { end: at, open } : { end: findBreak(window) };
    if (next === 0) return undefined;
    const before = open;
    open = advanceFence(line, open, next);
    if (before === undefined && open !== undefined) opened = at;
    const isCodeEnd = before !== undefined && open === undefined;
    if (open === undefined && next >= TARGET_LENGTH && (line.trim() === "" || isCodeEnd))
      return { end: next };
    at = next;
  }
  return undefined;
}

/** The last space in a line that is too long. */
function findBreak(window: string): number {
  const space = window.lastIndexOf(" ", MAX_LENGTH);
  const end = space > TARGET_LENGTH ? space + 1 : MAX_LENGTH;
  const code = window.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end - 1 : end;
}

function flattenQuotes(text: string): string {
  return text.replaceAll(DEEP_QUOTE, "$1");
}
