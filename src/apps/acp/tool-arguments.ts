import { isAbsolute, resolve } from "node:path";
import type { ToolCallLocation } from "@agentclientprotocol/sdk/unstable";

/** What a tool was given, by name. */
export type Given = Readonly<Record<string, unknown>>;

/** Some models give their arguments as JSON in a text; what is none is kept as `raw`. */
export function givenIn(input: unknown): Given {
  const value = typeof input === "string" ? parsed(input) : input;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Given;
  return value === undefined ? {} : { raw: input };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
}

/** The first of these that was given. Commands may be lists of words, and lines may be numbers. */
export function wordIn(given: Given, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = given[name];
    if (typeof value === "string" && value !== "") return value;
    if (typeof value === "number") return String(value);
    if (Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === "string")) {
      return value.join(" ");
    }
  }
  return undefined;
}

const PATHS = [
  "path",
  "file_path",
  "filePath",
  "filepath",
  "file",
  "file_name",
  "filename",
  "target_file",
  "absolute_path",
  "notebook_path",
  "directory",
  "dir_path",
  "dir",
];
const SOURCES = ["source", "src", "from", "old_path"];
const DESTINATIONS = ["destination", "dest", "to", "new_path", "target"];
const LINES = ["line", "offset", "start_line", "startLine", "line_number", "lineNumber", "insert_line"];
/** The protocol's own limit. */
const HIGHEST_LINE = 2 ** 32 - 1;
const MOST_LOCATIONS = 20;

export function pathIn(given: Given): string | undefined {
  return wordIn(given, PATHS) ?? pathsOfPatch(given)[0];
}

/** From where to where something is moved. */
export function moveIn(given: Given): readonly [from: string | undefined, to: string | undefined] {
  return [wordIn(given, [...SOURCES, ...PATHS]), wordIn(given, DESTINATIONS)];
}

/** Where an editor may look while the tool works. */
export function locationsIn(given: Given, isMove: boolean, cwd: string | undefined): ToolCallLocation[] {
  const named = isMove ? moveIn(given) : [pathIn(given), ...listed(given.paths), ...pathsOfPatch(given)];
  const paths = named.flatMap((path) => {
    const place = path === undefined ? undefined : absolute(path, cwd);
    return place === undefined ? [] : [place];
  });
  const line = lineIn(given);
  return [...new Set(paths)]
    .slice(0, MOST_LOCATIONS)
    .map((path, at) => (at === 0 && line !== undefined ? { path, line } : { path }));
}

/** Nothing for what is no place in the file system, or one that cannot be known. */
export function absolute(path: string, cwd: string | undefined): string | undefined {
  if (path.includes("\0") || path.startsWith("~") || /^[a-z][a-z0-9+.-]+:/i.test(path)) return undefined;
  if (isAbsolute(path)) return resolve(path);
  return cwd === undefined ? undefined : resolve(cwd, path);
}

function lineIn(given: Given): number | undefined {
  const range = Array.isArray(given.view_range) ? (given.view_range as readonly unknown[])[0] : undefined;
  const line = Number(wordIn(given, LINES) ?? range);
  return Number.isInteger(line) && line >= 1 && line <= HIGHEST_LINE ? line : undefined;
}

function listed(paths: unknown): readonly string[] {
  return Array.isArray(paths) ? paths.filter((path): path is string => typeof path === "string") : [];
}

/** A patch given as one text. */
export function patchIn(given: Given): string | undefined {
  const patch = wordIn(given, ["patch", "diff", "input", "patch_text", "raw"]);
  return patch !== undefined && /^(\*\*\* |--- |\+\+\+ |@@ )/m.test(patch) ? patch : undefined;
}

function pathsOfPatch(given: Given): readonly string[] {
  const patch = patchIn(given);
  if (patch === undefined) return [];
  const heads = patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)([^\t\r\n]+)/gm);
  return [...heads].slice(0, MOST_LOCATIONS).flatMap(([, path]) => (path === undefined ? [] : [path]));
}

export interface Edit {
  readonly oldText: string | null;
  readonly newText: string;
}

const OLD = ["old_string", "old_str", "oldText", "old_text", "oldString", "old", "search"];
const NEW = ["new_string", "new_str", "newText", "new_text", "newString", "new", "replace"];
const CONTENTS = ["content", "contents", "file_text", "text", "fileText"];

/** What a file is to hold; nothing was said about what it holds now. */
export function writtenIn(given: Given): readonly Edit[] {
  const name = CONTENTS.find((key) => typeof given[key] === "string");
  return name === undefined ? [] : [{ oldText: null, newText: String(given[name]) }];
}

/** What is to be replaced, one or several places at once. */
export function editsIn(given: Given): readonly Edit[] {
  const edits = Array.isArray(given.edits) ? (given.edits as readonly unknown[]) : [given];
  return edits.flatMap((edit) => {
    if (typeof edit !== "object" || edit === null) return [];
    const fields = edit as Given;
    const before = OLD.find((key) => typeof fields[key] === "string");
    const after = NEW.find((key) => typeof fields[key] === "string");
    if (before === undefined || after === undefined) return [];
    return [{ oldText: String(fields[before]), newText: String(fields[after]) }];
  });
}
