import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  parse,
  Scalar,
  visit,
  YAMLMap,
  YAMLSeq,
} from "yaml";
import type { SettingValue } from "./settings.ts";
import { isRawList, MAX_YAML_LENGTH, type RawValue, readYaml } from "./yaml-text.ts";

/** Sets or (with `undefined`) removes one value and keeps everything else. Undefined if impossible, as with an alias. */
export function editText(
  text: string,
  path: readonly string[],
  value: SettingValue | undefined,
): string | undefined {
  const { document, root } = readYaml(text);
  if (document.errors.length > 0 || text.length > MAX_YAML_LENGTH) return undefined;
  const key = path.join(".");
  const leaf = value === undefined ? undefined : JSON.stringify(toRawLeaf(value));
  if (leaf !== undefined && new Map(listRawLeaves(root)).get(key) === leaf) return text;
  const wanted = new Map(listRawLeaves(root).filter(([name]) => name !== key && !name.startsWith(`${key}.`)));
  if (leaf !== undefined) wanted.set(key, leaf);
  // YAML has too many forms to list, so the result is verified instead.
  const isRight = (edited: string): boolean =>
    hasSameLeaves([...wanted], listRawLeaves(readYaml(edited).root)) &&
    hasAllComments(listComments(edited), listComments(text));
  const inPlace = value === undefined ? undefined : spliceScalar(text, document, path, value);
  if (inPlace !== undefined && isRight(inPlace)) return inPlace;
  if (value === undefined ? !removeNode(document, path) : !setNode(document, path, value))
    return value === undefined ? text : undefined;
  const plain = hasNoSettings(document) ? formatComments(document) : document.toString({ lineWidth: 0 });
  const edited = text.includes("\r\n") ? plain.replaceAll("\n", "\r\n") : plain;
  return isRight(edited) ? edited : undefined;
}

/** Replaces one scalar in the text and changes nothing else. */
function spliceScalar(
  text: string,
  document: Document.Parsed,
  path: readonly string[],
  value: SettingValue,
): string | undefined {
  const node = document.getIn(path, true);
  if (typeof value === "object" || !isScalar(node) || !node.range || !node.source) return undefined;
  if (node.type === "BLOCK_FOLDED" || node.type === "BLOCK_LITERAL") return undefined;
  const { type } = createScalar(String(value), typeof value === "string");
  const word = type === "PLAIN" ? String(value) : JSON.stringify(value);
  return text.slice(0, node.range[0]) + word + text.slice(node.range[1]);
}

function toRawLeaf(value: SettingValue): string | readonly string[] {
  return typeof value === "object" ? value : String(value);
}

function setNode(document: Document.Parsed, path: readonly string[], value: SettingValue): boolean {
  let map: unknown = document.contents;
  if (map === null || (isScalar(map) && isNullScalar(map))) {
    const root = new YAMLMap(document.schema);
    moveComments(map, root);
    document.contents = root as unknown as typeof document.contents;
    map = root;
  }
  for (const name of path.slice(0, -1)) {
    if (!isMap(map)) return false;
    const pair = findPair(map, name);
    if (pair === undefined || pair.value === null || (isScalar(pair.value) && isNullScalar(pair.value))) {
      const section = new YAMLMap(document.schema);
      moveComments(pair?.value, section);
      if (pair === undefined) map.items.push(document.createPair(name, section) as Pair);
      else pair.value = section;
      map = section;
    } else map = pair.value;
  }
  if (!isMap(map)) return false;
  const name = path.at(-1) ?? "";
  const pair = findPair(map, name);
  if (pair === undefined) map.items.push(document.createPair(name, createNode(document, value)) as Pair);
  else pair.value = updateNode(document, pair.value, value);
  return true;
}

/** Reuses the existing node if it can hold the new value, to keep its comments and style. */
function updateNode(document: Document.Parsed, old: unknown, value: SettingValue): Node {
  const made = createNode(document, value);
  if (isScalar(old) && isScalar(made)) {
    old.value = made.value;
    if (made.type !== undefined) old.type = made.type;
    return old;
  }
  if (isSeq(old) && isSeq(made)) {
    const before = old.items;
    old.items = made.items.map(
      (item) => before.find((node) => isScalar(node) && isScalar(item) && node.value === item.value) ?? item,
    );
    const dropped = before.filter((node) => !old.items.includes(node)).flatMap(collectComments);
    if (dropped.length > 0) old.comment = [old.comment, ...dropped].filter(Boolean).join("\n");
    return old;
  }
  const comments = isAlias(old) ? [] : collectComments(old);
  if (comments.length > 0) made.commentBefore = comments.join("\n");
  return made;
}

function createNode(document: Document.Parsed, value: SettingValue): Node {
  if (typeof value !== "object") return createScalar(String(value), typeof value === "string");
  const list = new YAMLSeq(document.schema);
  list.flow = true;
  list.items = value.map((item) => createScalar(item, true));
  return list;
}

/** Quotes a text that a YAML reader could interpret as another type. */
function createScalar(text: string, isText: boolean): Scalar {
  const node = new Scalar(text);
  node.type = isText && !isPlain(text) ? "QUOTE_DOUBLE" : "PLAIN";
  return node;
}

function isPlain(text: string): boolean {
  if (!/^[\w/.@ -]+$/.test(text) || text !== text.trim()) return false;
  try {
    return parse(text) === text && parse(text, { version: "1.1" }) === text;
  } catch {
    return false;
  }
}

/** Removes the setting and a section that becomes empty. Comments stay. */
function removeNode(document: Document.Parsed, path: readonly string[]): boolean {
  const maps: YAMLMap[] = [];
  let node: unknown = document.contents;
  for (const name of path) {
    if (!isMap(node)) return false;
    maps.push(node as YAMLMap);
    const pair = findPair(node, name);
    if (pair === undefined) return false;
    node = pair.value;
  }
  for (const [depth, map] of [...maps.entries()].reverse()) {
    const at = map.items.findIndex((pair) => pair === findPair(map, path[depth] ?? ""));
    const [gone] = map.items.splice(at, 1);
    const remarks = collectComments(gone).join("\n");
    if (remarks !== "") keepComments(map, at, remarks);
    if (map.items.length > 0 || depth === 0) break;
  }
  return true;
}

function keepComments(map: YAMLMap, at: number, remarks: string): void {
  const next = map.items[at]?.key;
  if (isScalar(next)) next.commentBefore = [remarks, next.commentBefore].filter(Boolean).join("\n");
  else map.comment = [map.comment, remarks].filter(Boolean).join("\n");
}

function hasNoSettings({ contents }: Document.Parsed): boolean {
  return isMap(contents) && contents.items.length === 0;
}

/** The library would write an empty document as {}. */
function formatComments(document: Document.Parsed): string {
  const remarks = [document.commentBefore, ...collectComments(document.contents), document.comment];
  return remarks
    .filter((remark) => remark !== null && remark !== undefined && remark !== "")
    .flatMap((remark) => String(remark).split("\n"))
    .map((line) => `#${line}\n`)
    .join("");
}

/** Comments in the form of the library: without #, lines joined. */
function collectComments(node: unknown): string[] {
  const found: string[] = [];
  const take = (one: unknown): void => {
    const { commentBefore, comment } = one as { commentBefore?: string | null; comment?: string | null };
    for (const text of [commentBefore, comment]) if (text) found.push(text);
  };
  if (isPair(node)) return [...collectComments(node.key), ...collectComments(node.value)];
  if (isScalar(node) || isAlias(node)) take(node);
  if (isCollection(node)) visit(node, { Node: (_, one) => take(one) });
  return found;
}

function moveComments(from: unknown, to: Node): void {
  const comments = collectComments(from);
  if (comments.length > 0) to.commentBefore = comments.join("\n");
}

function findPair(map: unknown, name: string): Pair | undefined {
  if (!isMap(map)) return undefined;
  return map.items.find(({ key }) => isScalar(key) && String(key.value) === name) as Pair | undefined;
}

/** The value is empty. */
function isNullScalar(node: Scalar): boolean {
  return node.type === "PLAIN" && /^(?:~|null|Null|NULL|)$/.test(String(node.value ?? ""));
}

function listRawLeaves(raw: RawValue, path: readonly string[] = []): [string, string][] {
  if (raw === null) return [];
  if (typeof raw === "string" || isRawList(raw)) return [[path.join("."), JSON.stringify(raw)]];
  return Object.entries(raw).flatMap(([name, below]) => listRawLeaves(below, [...path, name]));
}

function hasSameLeaves(some: readonly [string, string][], others: readonly [string, string][]): boolean {
  const sorted = (leaves: readonly [string, string][]): string =>
    JSON.stringify(leaves.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(some) === sorted(others);
}

/** The text of every comment, without # and surrounding space. */
export function listComments(text: string): string[] {
  const comments: string[] = [];
  let isScalarNext = false;
  for (const token of new Lexer().lex(text)) {
    if (!isScalarNext && token.startsWith("#")) comments.push(token.replace(/^#/, "").trim());
    isScalarNext = token === "\x1f";
  }
  return comments.filter((comment) => comment !== "");
}

function hasAllComments(all: readonly string[], some: readonly string[]): boolean {
  const left = [...all];
  return some.every((comment) => {
    const at = left.indexOf(comment);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}
