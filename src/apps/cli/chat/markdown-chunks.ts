import { advanceFence, type OpenFence } from "../../../core/split-text.ts";

/** From this length on, a piece ends at the next empty line. */
const TARGET_LENGTH = 2000;
/** A piece that has no empty line ends here: what reads Markdown takes ever longer for long ones. */
const MAX_LENGTH = 4000;
/** A block of code is cheap to read, and is cut only when it is longer than this. */
const MAX_CODE_LENGTH = 16_000;
/** What reads Markdown calls itself for every level of quotes. */
const DEEP_QUOTE = /^((?: {0,3}>[ \t]?){6})(?: {0,3}>[ \t]?)+/gm;

/** Divides Markdown that grows into pieces that are shown one by one, so that only the last is ever read again. */
export interface MarkdownChunks {
  /** Gives the pieces that are whole now, and the one that still grows. */
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
  /** A block of code that goes on behind the cut. */
  readonly open?: OpenFence;
}

/** Where the first piece ends; nothing while more may belong to it. */
function findNextCut(text: string): Cut | undefined {
  if (text.length <= TARGET_LENGTH) return undefined;
  const window = text.slice(0, MAX_CODE_LENGTH + 1);
  let open: OpenFence | undefined;
  /** Where the line begins that opened the block. */
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

/** The last space of a line that is too long. */
function findBreak(window: string): number {
  const space = window.lastIndexOf(" ", MAX_LENGTH);
  const end = space > TARGET_LENGTH ? space + 1 : MAX_LENGTH;
  const code = window.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end - 1 : end;
}

function flattenQuotes(text: string): string {
  return text.replaceAll(DEEP_QUOTE, "$1");
}
