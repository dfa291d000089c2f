import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { combined, differences } from "./server-entry.ts";

/** Where an entry belongs in an editor's settings: a section of the root, and its name there. */
export interface EntryPlace {
  readonly section: string;
  readonly name: string;
}

export type Merged =
  | { readonly state: "added" | "replaced"; readonly text: string }
  /** It is there already, and says the same. */
  | { readonly state: "there" }
  /** One of that name is there, and says something else in these fields. */
  | { readonly state: "other"; readonly line: number; readonly differs: readonly string[] }
  | { readonly state: "unusable"; readonly line: number; readonly column: number; readonly why: string };

/**
 * Settings with an entry put into them. They may have comments, trailing commas and any layout: adding only inserts, so
 * every byte that was there stays, in its order; replacing touches the entry alone.
 */
export function mergeEntry(
  given: string,
  place: EntryPlace,
  entry: Readonly<Record<string, unknown>>,
  isForced: boolean,
): Merged {
  const mark = given.startsWith("\ufeff") ? "\ufeff" : "";
  const text = given.slice(mark.length);
  const errors: ParseError[] = [];
  const root = treeOf(text, errors);
  if (root === "deep") return unusable(text, 0, "the settings are nested too deeply");
  const [error] = errors.toSorted((one, other) => one.offset - other.offset);
  if (error !== undefined) return unusable(text, error.offset, words(printParseErrorCode(error.error)));
  const whole = { [place.section]: { [place.name]: entry } };
  if (root === undefined) return { state: "added", text: mark + text + started(text, whole) };
  if (root.type !== "object") return unusable(text, root.offset, "the settings are not an object");
  const layout = layoutOf(text, root);
  const [section, again] = valuesAt(root, place.section);
  if (again !== undefined)
    return unusable(text, again.offset, `${JSON.stringify(place.section)} is there twice`);
  if (section === undefined) {
    const { [place.section]: value } = whole;
    return { state: "added", text: mark + inserted(text, root, place.section, value, layout) };
  }
  if (section.type !== "object")
    return unusable(text, section.offset, `${JSON.stringify(place.section)} is not an object`);
  const [existing, double] = valuesAt(section, place.name);
  if (double !== undefined)
    return unusable(text, double.offset, `${JSON.stringify(place.name)} is there twice`);
  if (existing === undefined)
    return { state: "added", text: mark + inserted(text, section, place.name, entry, layout) };
  const value: unknown = getNodeValue(existing);
  const differs = differences(value, entry);
  if (differs.length === 0) return { state: "there" };
  if (!isForced) return { state: "other", line: positionOf(text, existing.offset).line, differs };
  const printed = print(combined(value, entry), indentOf(text, existing.offset), layout);
  return {
    state: "replaced",
    text: mark + text.slice(0, existing.offset) + printed + text.slice(existing.offset + existing.length),
  };
}

/** The library calls itself for every level. */
function treeOf(text: string, errors: ParseError[]): Node | undefined | "deep" {
  try {
    return parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  } catch (error) {
    if (error instanceof RangeError) return "deep";
    throw error;
  }
}

/** Every value of that name: more than one is more than an editor would read. */
function valuesAt(object: Node, name: string): readonly Node[] {
  const properties = (object.children ?? []).map(({ children = [] }) => children);
  return properties.flatMap(([key, value]) => (key?.value === name && value !== undefined ? [value] : []));
}

/** How the file is written: what ends a line, and what goes before a line that is one level deeper. */
interface Layout {
  readonly lineEnd: string;
  readonly step: string;
}

function layoutOf(text: string, root?: Node): Layout {
  const first = root?.children?.[0];
  const step = first !== undefined && beginsLine(text, first.offset) ? indentOf(text, first.offset) : "";
  return { lineEnd: /\r?\n/.exec(text)?.[0] ?? "\n", step: step || "  " };
}

/** A file without any settings yet, perhaps with comments. */
function started(text: string, whole: unknown): string {
  const layout = layoutOf(text);
  const before = text === "" || /[\r\n]$/.test(text) ? "" : layout.lineEnd;
  return before + print(whole, "", layout) + layout.lineEnd;
}

/** The object's last line gets a neighbour; a comment that stands behind it stays behind it. */
function inserted(text: string, object: Node, key: string, value: unknown, layout: Layout): string {
  const last = object.children?.at(-1);
  const end = last === undefined ? object.offset + 1 : last.offset + last.length;
  const comma = last === undefined ? undefined : afterComma(text, end);
  const at = matchEnd(COMMENTS_BESIDE, text, comma ?? end);
  const outer = indentOf(text, object.offset);
  const isBelow = last !== undefined && beginsLine(text, last.offset);
  const inner = isBelow ? indentOf(text, last.offset) : outer + layout.step;
  const line = `${layout.lineEnd}${inner}${JSON.stringify(key)}: ${print(value, inner, layout)}`;
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

const BETWEEN = /(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\r\n]*)*/y;
const COMMENTS_BESIDE = /(?:[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/[^\r\n]*))*/y;

function afterComma(text: string, from: number): number | undefined {
  const at = matchEnd(BETWEEN, text, from);
  return text[at] === "," ? at + 1 : undefined;
}

function matchEnd(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return from + (pattern.exec(text)?.[0].length ?? 0);
}

function print(value: unknown, indent: string, { lineEnd, step }: Layout): string {
  return JSON.stringify(value, null, step).replaceAll("\n", lineEnd + indent);
}

function lineStart(text: string, offset: number): number {
  const before = text.slice(0, offset);
  return Math.max(before.lastIndexOf("\n"), before.lastIndexOf("\r")) + 1;
}

/** The blanks with which the line of this place begins. */
function indentOf(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? "";
}

function beginsLine(text: string, offset: number): boolean {
  return text.slice(lineStart(text, offset), offset).trim() === "";
}

function unusable(text: string, offset: number, why: string): Merged {
  return { state: "unusable", ...positionOf(text, offset), why };
}

function positionOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const line = text.slice(0, offset).split(/\r\n|\r|\n/).length;
  return { line, column: offset - lineStart(text, offset) + 1 };
}

/** `CommaExpected` is "comma expected". */
function words(code: string): string {
  return code.replaceAll(/\B[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
