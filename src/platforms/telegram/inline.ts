import { countRepeats, indexMarks, type MarkIndex } from "./mark-index.ts";

/** Inline markup of a block. A tree, so that the resulting tags are always balanced. */
export type InlineNode =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "code"; readonly text: string }
  | { readonly type: "bold" | "italic" | "strike"; readonly inside: readonly InlineNode[] }
  | { readonly type: "link"; readonly url: string; readonly inside: readonly InlineNode[] };

/** Deeper marks stay as text. */
const MAX_DEPTH = 12;

/** Parses the inline marks of a line or paragraph. Everything else is text. */
export function parseInline(source: string, depth = 0): readonly InlineNode[] {
  const found: InlineNode[] = [];
  const marks = indexMarks(source);
  let plain = "";
  let at = 0;
  while (at < source.length) {
    const piece = depth < MAX_DEPTH ? parseInlineAt(source, at, depth, marks) : undefined;
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

interface InlineMatch {
  readonly node: InlineNode;
  readonly end: number;
}

function parseInlineAt(source: string, at: number, depth: number, marks: MarkIndex): InlineMatch | undefined {
  switch (source[at]) {
    case "\\":
      return parseEscape(source, at);
    case "`":
      return parseCode(source, at, marks);
    case "!":
      return source[at + 1] === "[" ? parseLink(source, at + 1, depth, marks) : undefined;
    case "[":
      return parseLink(source, at, depth, marks);
    case "<":
      return parseAutolink(source, at);
    case "h":
      return parseBareUrl(source, at);
    case "*":
    case "_":
    case "~":
      return parseEmphasis(source, at, depth, marks);
    default:
      return undefined;
  }
}

function parseEscape(source: string, at: number): InlineMatch | undefined {
  const next = source[at + 1];
  if (next === undefined || !/[!-/:-@[-`{-~]/.test(next)) return undefined;
  return { node: { type: "text", text: next }, end: at + 2 };
}

function parseCode(source: string, at: number, marks: MarkIndex): InlineMatch {
  const ticks = countRepeats(source, at);
  const close = marks.findClosingTicks(at + ticks, ticks);
  // Without a closing run, the whole run is text. Otherwise its end could open another one.
  if (close === undefined)
    return { node: { type: "text", text: source.slice(at, at + ticks) }, end: at + ticks };
  const inside = source.slice(at + ticks, close);
  const isPadded = inside.startsWith(" ") && inside.endsWith(" ") && /[^ ]/.test(inside);
  return { node: { type: "code", text: isPadded ? inside.slice(1, -1) : inside }, end: close + ticks };
}

function parseLink(source: string, at: number, depth: number, marks: MarkIndex): InlineMatch | undefined {
  const close = marks.findClosingBracket(at);
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

function parseAutolink(source: string, at: number): InlineMatch | undefined {
  const found = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/.exec(source.slice(at, at + 2048));
  return found?.[1] === undefined
    ? undefined
    : { node: { type: "text", text: found[1] }, end: at + found[0].length };
}

/** A URL is plain text: underscores in it are no marks. The messenger links it itself. */
function parseBareUrl(source: string, at: number): InlineMatch | undefined {
  const found = /^https?:\/\/[^\s<>*`~[\]()|\\]+/.exec(source.slice(at, at + 2048));
  if (found === null) return undefined;
  // A mark at the end belongs to the surrounding text.
  let address = found[0];
  while (address.endsWith("_")) address = address.slice(0, -1);
  return { node: { type: "text", text: address }, end: at + address.length };
}

const KINDS = { "**": "bold", __: "bold", "~~": "strike", "*": "italic", _: "italic" } as const;

function parseEmphasis(source: string, at: number, depth: number, marks: MarkIndex): InlineMatch | undefined {
  const char = source[at] ?? "";
  const run = countRepeats(source, at);
  const isText: InlineMatch = { node: { type: "text", text: source.slice(at, at + run) }, end: at + run };
  if (char === "_" && isWordCharacter(source[at - 1])) return isText;
  if (run > 3 || isSpace(source[at + run])) return isText;
  for (const length of run === 3 ? [3, 2, 1] : [run]) {
    const mark = char.repeat(length);
    if (marks.unclosed.has(mark) || (char === "~" && length !== 2)) continue;
    const close = findClosingMark(source, at + run, mark, marks);
    if (close === undefined) {
      marks.unclosed.add(mark);
      continue;
    }
    // `__init__` is more likely a name in code than bold text.
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

function findClosingMark(source: string, from: number, mark: string, marks: MarkIndex): number | undefined {
  const [char] = mark;
  let doubles = 0;
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === "\\") {
      at += 1;
      continue;
    }
    if (source[at] === "`") {
      at = parseCode(source, at, marks).end - 1;
      continue;
    }
    if (source[at] !== char) continue;
    const run = countRepeats(source, at);
    const closes =
      at > from && !isSpace(source[at - 1]) && !(char === "_" && isWordCharacter(source[at + run]));
    if (closes && run === mark.length) return at;
    // Of three marks, the innermost one is closed first.
    if (closes && run === 3) return mark.length === 1 && doubles % 2 === 0 ? at : at + 3 - mark.length;
    if (run === 2) doubles += 1;
    at += run - 1;
  }
  return undefined;
}

function isSpace(char: string | undefined): boolean {
  return char === undefined || /\s/.test(char);
}

function isWordCharacter(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}_]/u.test(char);
}
