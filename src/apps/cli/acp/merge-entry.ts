import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { combineEntries, findEntryDifferences } from "./server-entry.ts";

/** The section and the name of an entry in the settings of an editor. */
export interface EntryPath {
  readonly section: string;
  readonly name: string;
}

export type MergeResult =
  | { readonly state: "added" | "replaced"; readonly text: string }
  /** The same entry exists. */
  | { readonly state: "there" }
  /** An entry of that name exists, with other values in these fields. */
  | { readonly state: "other"; readonly line: number; readonly differs: readonly string[] }
  | { readonly state: "unusable"; readonly line: number; readonly column: number; readonly why: string };

/**
 * Adds an entry to settings with comments, trailing commas and any layout. Adding only inserts text, so every existing byte
 * stays; replacing changes only the entry.
 */
export function mergeEntry(
  settings: string,
  path: EntryPath,
  entry: Readonly<Record<string, unknown>>,
  isForced: boolean,
): MergeResult {
  const mark = settings.startsWith("\ufeff") ? "\ufeff" : "";
  const text = settings.slice(mark.length);
  const errors: ParseError[] = [];
  const root = parseSettings(text, errors);
  if (root === "deep") return toUnusable(text, 0, "the settings are nested too deeply");
  const [error] = errors.toSorted((one, other) => one.offset - other.offset);
  if (error !== undefined)
    return toUnusable(text, error.offset, formatErrorCode(printParseErrorCode(error.error)));
  const whole = { [path.section]: { [path.name]: entry } };
  if (root === undefined) return { state: "added", text: mark + text + formatNewSettings(text, whole) };
  if (root.type !== "object") return toUnusable(text, root.offset, "the settings are not an object");
  const layout = detectLayout(text, root);
  const [section, again] = findValues(root, path.section);
  if (again !== undefined)
    return toUnusable(text, again.offset, `${JSON.stringify(path.section)} exists twice`);
  if (section === undefined) {
    const { [path.section]: value } = whole;
    return { state: "added", text: mark + insertProperty(text, root, path.section, value, layout) };
  }
  if (section.type !== "object")
    return toUnusable(text, section.offset, `${JSON.stringify(path.section)} is not an object`);
  const [existing, double] = findValues(section, path.name);
  if (double !== undefined)
    return toUnusable(text, double.offset, `${JSON.stringify(path.name)} exists twice`);
  if (existing === undefined)
    return { state: "added", text: mark + insertProperty(text, section, path.name, entry, layout) };
  const value: unknown = getNodeValue(existing);
  const differs = findEntryDifferences(value, entry);
  if (differs.length === 0) return { state: "there" };
  if (!isForced) return { state: "other", line: getPosition(text, existing.offset).line, differs };
  const printed = formatValue(combineEntries(value, entry), getIndent(text, existing.offset), layout);
  return {
    state: "replaced",
    text: mark + text.slice(0, existing.offset) + printed + text.slice(existing.offset + existing.length),
  };
}

/** The library recurses into every level. */
function parseSettings(text: string, errors: ParseError[]): Node | undefined | "deep" {
  try {
    return parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  } catch (error) {
    if (error instanceof RangeError) return "deep";
    throw error;
  }
}

/** All values with that name. An editor reads only one of them. */
function findValues(object: Node, name: string): readonly Node[] {
  const properties = (object.children ?? []).map(({ children = [] }) => children);
  return properties.flatMap(([key, value]) => (key?.value === name && value !== undefined ? [value] : []));
}

/** The line ending and the indentation of the file. */
interface Layout {
  readonly lineEnd: string;
  readonly step: string;
}

function detectLayout(text: string, root?: Node): Layout {
  const first = root?.children?.[0];
  const step = first !== undefined && isLineStart(text, first.offset) ? getIndent(text, first.offset) : "";
  return { lineEnd: /\r?\n/.exec(text)?.[0] ?? "\n", step: step || "  " };
}

/** For a file without settings, which may have comments. */
function formatNewSettings(text: string, whole: unknown): string {
  const layout = detectLayout(text);
  const before = text === "" || /[\r\n]$/.test(text) ? "" : layout.lineEnd;
  return before + formatValue(whole, "", layout) + layout.lineEnd;
}

/** Inserts after the last property. A comment behind that property stays behind it. */
function insertProperty(text: string, object: Node, key: string, value: unknown, layout: Layout): string {
  const last = object.children?.at(-1);
  const end = last === undefined ? object.offset + 1 : last.offset + last.length;
  const comma = last === undefined ? undefined : findCommaEnd(text, end);
  const at = matchEnd(TRAILING_COMMENTS, text, comma ?? end);
  const outer = getIndent(text, object.offset);
  const isBelow = last !== undefined && isLineStart(text, last.offset);
  const inner = isBelow ? getIndent(text, last.offset) : outer + layout.step;
  const line = `${layout.lineEnd}${inner}${JSON.stringify(key)}: ${formatValue(value, inner, layout)}`;
  const isLineEnd = /^[ \t]*[\r\n]/.test(text.slice(at));
  return [
    text.slice(0, end),
    last !== undefined && comma === undefined ? "," : "",
    text.slice(end, at),
    line,
    comma === undefined ? "" : ",",
    isLineEnd ? "" : layout.lineEnd + outer,
    text.slice(at),
  ].join("");
}

const WHITESPACE_AND_COMMENTS = /(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\r\n]*)*/y;
const TRAILING_COMMENTS = /(?:[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/[^\r\n]*))*/y;

function findCommaEnd(text: string, from: number): number | undefined {
  const at = matchEnd(WHITESPACE_AND_COMMENTS, text, from);
  return text[at] === "," ? at + 1 : undefined;
}

function matchEnd(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return from + (pattern.exec(text)?.[0].length ?? 0);
}

function formatValue(value: unknown, indent: string, { lineEnd, step }: Layout): string {
  return JSON.stringify(value, null, step).replaceAll("\n", lineEnd + indent);
}

function findLineStart(text: string, offset: number): number {
  const before = text.slice(0, offset);
  return Math.max(before.lastIndexOf("\n"), before.lastIndexOf("\r")) + 1;
}

/** The indentation of the line at this offset. */
function getIndent(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(findLineStart(text, offset), offset))?.[0] ?? "";
}

function isLineStart(text: string, offset: number): boolean {
  return text.slice(findLineStart(text, offset), offset).trim() === "";
}

function toUnusable(text: string, offset: number, why: string): MergeResult {
  return { state: "unusable", ...getPosition(text, offset), why };
}

function getPosition(text: string, offset: number): { readonly line: number; readonly column: number } {
  const line = text.slice(0, offset).split(/\r\n|\r|\n/).length;
  return { line, column: offset - findLineStart(text, offset) + 1 };
}

/** `CommaExpected` becomes "comma expected". */
function formatErrorCode(code: string): string {
  return code.replaceAll(/\B[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
