import { createRequire } from "node:module";
import type { Document, LineCounter, Node, YAMLError } from "yaml";
import type { ConfigProblem } from "./config-problem.ts";

/** The raw content of a file: scalars stay text, so that ids such as +15551234567 or 0049 keep their digits. */
export type RawValue = string | null | readonly RawValue[] | RawMapping;
export interface RawMapping {
  readonly [name: string]: RawValue;
}

export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

export interface YamlText {
  readonly document: Document.Parsed;
  readonly root: RawMapping;
  readonly problems: readonly ConfigProblem[];
  /** Locates a path, or its nearest existing section. */
  locate(path: readonly PropertyKey[]): TextPosition;
}

let library: typeof import("yaml") | undefined;
/** Loaded with the first file, to keep a start without files fast. */
function loadYaml(): typeof import("yaml") {
  library ??= createRequire(import.meta.url)("yaml") as typeof import("yaml");
  return library;
}

/** Longer than any configuration. The library takes seconds for a longer text that is not YAML. */
export const MAX_YAML_LENGTH: number = 100_000;

/** Parses any text. It never throws: `problems` lists the errors with their lines. */
export function readYaml(text: string): YamlText {
  if (text.length > MAX_YAML_LENGTH)
    return createUnreadYaml(`is longer than ${MAX_YAML_LENGTH.toLocaleString("en-US")} characters`);
  const { LineCounter } = loadYaml();
  const lines = new LineCounter();
  const parsed = parse(text, lines);
  const position = (offset: number): TextPosition => {
    const { line, col } = lines.linePos(Math.min(offset, text.length));
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (parsed === undefined) return createUnreadYaml("is nested too deeply");
  const document = parsed;
  const problems: ConfigProblem[] = [...document.errors, ...document.warnings].map((error) => ({
    ...position(error.pos[0]),
    text: formatYamlError(error),
  }));
  const read = readRawRoot(document, position);
  if (problems.length === 0) problems.push(...read.problems);
  return { document, root: read.root, problems, locate: (path) => position(findOffset(document, path)) };
}

/** An empty document with one problem. */
function createUnreadYaml(why: string): YamlText {
  const start = { line: 1, column: 1 };
  const document = parse("", new (loadYaml().LineCounter)()) ?? unreachable();
  return { document, root: {}, problems: [{ ...start, text: why }], locate: () => start };
}

function parse(text: string, lineCounter: LineCounter): Document.Parsed | undefined {
  try {
    return loadYaml().parseDocument(text, { schema: "failsafe", lineCounter, prettyErrors: false });
  } catch {
    return undefined; // a stack overflow; the document lists all other errors
  }
}

function unreachable(): never {
  throw new Error("the YAML library cannot parse an empty text");
}

/** Our own texts, because the library's messages may quote a secret. */
function formatYamlError({ code }: YAMLError): string {
  return `is not YAML here: ${YAML_ERROR_TEXTS[code] ?? "unexpected text"}`;
}

const YAML_ERROR_TEXTS: Readonly<Partial<Record<YAMLError["code"], string>>> = {
  BAD_ALIAS: "the alias has no anchor",
  BAD_DQ_ESCAPE: "unknown escape sequence in double quotes",
  BAD_INDENT: "the indentation differs from the lines around it",
  BAD_SCALAR_START: "a value cannot start with this character; put the value in quotes",
  BLOCK_AS_IMPLICIT_KEY: "two colons in one line; put the value in quotes",
  BLOCK_IN_FLOW: "a block is not allowed inside brackets",
  DUPLICATE_KEY: "duplicate key",
  MISSING_CHAR: "a quote, bracket, comma or colon is missing",
  MULTILINE_IMPLICIT_KEY: "a key must be on one line and end with a colon",
  MULTIPLE_DOCS: "a second document starts here",
  TAB_AS_INDENT: "tabs are not allowed as indentation; use spaces",
  TAG_RESOLVE_FAILED: "tags such as !name are not supported",
};

/** More nodes than any configuration, fewer than nested aliases could create. */
const MAX_NODES = 10_000;
const MAX_DEPTH = 20;

function readRawRoot(
  document: Document.Parsed,
  position: (offset: number) => TextPosition,
): { readonly root: RawMapping; readonly problems: readonly ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  let nodes = 0;
  const problem = (node: Node | null | undefined, text: string): null => {
    problems.push({ ...position(node?.range?.[0] ?? 0), text });
    return null;
  };
  const read = (given: unknown, depth: number): RawValue => {
    nodes += 1;
    if (nodes > MAX_NODES || depth > MAX_DEPTH) {
      if (problems.length === 0) problem(given as Node, "has too many entries for a configuration");
      return null;
    }
    const node = resolveAlias(document, given);
    if (loadYaml().isScalar(node)) return isNullScalar(node) ? null : String(node.value);
    if (loadYaml().isSeq(node)) return node.items.map((item) => read(item, depth + 1));
    if (!loadYaml().isMap(node)) return null;
    const entries = node.items.flatMap(({ key, value }): [string, RawValue][] => {
      const name = resolveAlias(document, key);
      // A plain object cannot have this key as an own property.
      if (loadYaml().isScalar(name) && name.value !== "__proto__")
        return [[String(name.value), read(value, depth + 1)]];
      problem(key as Node, "has a key that is not a name");
      return [];
    });
    return Object.fromEntries(entries);
  };
  const root = read(document.contents, 0);
  if (root === null) return { root: {}, problems };
  if (typeof root !== "string" && !isRawList(root)) return { root, problems };
  problem(document.contents, "must be settings, each as `name: value`");
  return { root: {}, problems };
}

export function isRawList(raw: RawValue): raw is readonly RawValue[] {
  return Array.isArray(raw);
}

function resolveAlias(document: Document.Parsed, node: unknown): unknown {
  return loadYaml().isAlias(node) ? node.resolve(document) : node;
}

function isNullScalar(node: { readonly type?: unknown; readonly value: unknown }): boolean {
  return node.type === "PLAIN" && /^(?:~|null|Null|NULL|)$/.test(String(node.value ?? ""));
}

function findOffset(document: Document.Parsed, path: readonly PropertyKey[]): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const part of path) {
    const here = resolveAlias(document, node);
    if (loadYaml().isMap(here)) {
      const pair = here.items.find(({ key }) => {
        const name = resolveAlias(document, key);
        return loadYaml().isScalar(name) && String(name.value) === String(part);
      });
      if (pair === undefined) return offset;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value;
    } else if (loadYaml().isSeq(here)) {
      node = here.items[Number(part)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}
