import { type Marks, marksIn, runAt } from "./marks.ts";

/** A run of text within a block. A tree, so that what is made of it is always balanced. */
export type Inline =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "code"; readonly text: string }
  | { readonly type: "bold" | "italic" | "strike"; readonly inside: readonly Inline[] }
  | { readonly type: "link"; readonly url: string; readonly inside: readonly Inline[] };

/** Deeper than anybody writes; beyond it the marks stay as they are. */
const MAX_DEPTH = 12;

/** Reads the marks that models write within a line or paragraph. What is no mark is text, as it stands. */
export function parseInline(source: string, depth = 0): readonly Inline[] {
  const found: Inline[] = [];
  const marks = marksIn(source);
  let plain = "";
  let at = 0;
  while (at < source.length) {
    const piece = depth < MAX_DEPTH ? pieceAt(source, at, depth, marks) : undefined;
    if (piece === undefined) {
      plain += source[at];
      at += 1;
      continue;
    }
    if (piece.node.type === "text") plain += piece.node.text;
    else {
      if (plain !== "") found.push({ type: "text", text: plain });
      plain = "";
      found.push(piece.node);
    }
    at = piece.end;
  }
  if (plain !== "") found.push({ type: "text", text: plain });
  return found;
}

interface Piece {
  readonly node: Inline;
  readonly end: number;
}

function pieceAt(source: string, at: number, depth: number, marks: Marks): Piece | undefined {
  switch (source[at]) {
    case "\\":
      return escaped(source, at);
    case "`":
      return codeAt(source, at, marks);
    case "!":
      return source[at + 1] === "[" ? linkAt(source, at + 1, depth, marks) : undefined;
    case "[":
      return linkAt(source, at, depth, marks);
    case "<":
      return addressAt(source, at);
    case "h":
      return bareAddressAt(source, at);
    case "*":
    case "_":
    case "~":
      return emphasisAt(source, at, depth, marks);
    default:
      return undefined;
  }
}

function escaped(source: string, at: number): Piece | undefined {
  const next = source[at + 1];
  if (next === undefined || !/[!-/:-@[-`{-~]/.test(next)) return undefined;
  return { node: { type: "text", text: next }, end: at + 2 };
}

function codeAt(source: string, at: number, marks: Marks): Piece {
  const ticks = runAt(source, at);
  const close = marks.closingTicks(at + ticks, ticks);
  // Nothing closes it: the whole run is text, or its own end would be taken for a beginning.
  if (close === undefined)
    return { node: { type: "text", text: source.slice(at, at + ticks) }, end: at + ticks };
  const inside = source.slice(at + ticks, close);
  const isPadded = inside.startsWith(" ") && inside.endsWith(" ") && /[^ ]/.test(inside);
  return { node: { type: "code", text: isPadded ? inside.slice(1, -1) : inside }, end: close + ticks };
}

function linkAt(source: string, at: number, depth: number, marks: Marks): Piece | undefined {
  const close = marks.closingBracket(at);
  if (close === undefined || source[close + 1] !== "(") return undefined;
  const target =
    /^\(\s*(?:<([^<>\n]*)>|((?:[^\s()]|\([^\s()]*\))+))(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/.exec(
      source.slice(close + 1, close + 4096),
    );
  const url = target?.[1] ?? target?.[2];
  if (target === null || url === undefined || url === "") return undefined;
  const label = source.slice(at + 1, close);
  const inside = label.trim() === "" ? [{ type: "text", text: url } as const] : parseInline(label, depth + 1);
  return { node: { type: "link", url, inside }, end: close + 1 + target[0].length };
}

function addressAt(source: string, at: number): Piece | undefined {
  const found = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/.exec(source.slice(at, at + 2048));
  return found?.[1] === undefined
    ? undefined
    : { node: { type: "text", text: found[1] }, end: at + found[0].length };
}

/** An address is text as it stands: underlines within it are no marks. The messenger makes a link of it by itself. */
function bareAddressAt(source: string, at: number): Piece | undefined {
  const found = /^https?:\/\/[^\s<>*`~[\]()|\\]+/.exec(source.slice(at, at + 2048));
  if (found === null) return undefined;
  // A mark at its end belongs to what is around it.
  let address = found[0];
  while (address.endsWith("_")) address = address.slice(0, -1);
  return { node: { type: "text", text: address }, end: at + address.length };
}

const KINDS = { "**": "bold", __: "bold", "~~": "strike", "*": "italic", _: "italic" } as const;

function emphasisAt(source: string, at: number, depth: number, marks: Marks): Piece | undefined {
  const char = source[at] ?? "";
  const run = runAt(source, at);
  const isText: Piece = { node: { type: "text", text: source.slice(at, at + run) }, end: at + run };
  if (char === "_" && isWord(source[at - 1])) return isText;
  if (run > 3 || isSpace(source[at + run])) return isText;
  for (const length of run === 3 ? [3, 2, 1] : [run]) {
    const mark = char.repeat(length);
    if (marks.unclosed.has(mark) || (char === "~" && length !== 2)) continue;
    const close = closingMark(source, at + run, mark, marks);
    if (close === undefined) {
      marks.unclosed.add(mark);
      continue;
    }
    // More often a name in code than something to be stressed: __init__
    if (mark === "__" && /^\w+$/.test(source.slice(at + length, close))) return isText;
    const inside = parseInline(source.slice(at + length, close), depth + 1);
    const end = close + length;
    if (length === 3) {
      return { node: { type: "bold", inside: [{ type: "italic", inside }] }, end };
    }
    return { node: { type: KINDS[mark as keyof typeof KINDS], inside }, end };
  }
  return isText;
}

function closingMark(source: string, from: number, mark: string, marks: Marks): number | undefined {
  const [char] = mark;
  let doubles = 0;
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === "\\") {
      at += 1;
      continue;
    }
    if (source[at] === "`") {
      at = codeAt(source, at, marks).end - 1;
      continue;
    }
    if (source[at] !== char) continue;
    const run = runAt(source, at);
    const closes = at > from && !isSpace(source[at - 1]) && !(char === "_" && isWord(source[at + run]));
    if (closes && run === mark.length) return at;
    // Of three, whatever was opened last is closed first.
    if (closes && run === 3) return mark.length === 1 && doubles % 2 === 0 ? at : at + 3 - mark.length;
    if (run === 2) doubles += 1;
    at += run - 1;
  }
  return undefined;
}

function isSpace(char: string | undefined): boolean {
  return char === undefined || /\s/.test(char);
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}_]/u.test(char);
}
