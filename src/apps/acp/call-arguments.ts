import { isAbsolute, resolve } from "node:path";
import type { ToolCallLocation } from "@agentclientprotocol/sdk/unstable";

/** What a tool was given, by name. */
export type CallArguments = Readonly<Record<string, unknown>>;

/** Some models give their arguments as JSON in a text; what is none is kept as `raw`. */
export function parseCallArguments(input: unknown): CallArguments {
  const value = typeof input === "string" ? parseJsonText(input) : input;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as CallArguments;
  return value === undefined ? {} : { raw: input };
}

function parseJsonText(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
}

/** The first of these that was given. Commands may be lists of words, and lines may be numbers. */
export function findCallArgument(given: CallArguments, names: readonly string[]): string | undefined {
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
const MAX_LINE = 2 ** 32 - 1;
const MAX_LOCATIONS = 20;

export function findCallPath(given: CallArguments): string | undefined {
  return findCallArgument(given, PATHS) ?? parsePatchPaths(given)[0];
}

/** From where to where something is moved. */
export function findMovePaths(
  given: CallArguments,
): readonly [from: string | undefined, to: string | undefined] {
  return [findCallArgument(given, [...SOURCES, ...PATHS]), findCallArgument(given, DESTINATIONS)];
}

/** Where an editor may look while the tool works. */
export function findCallLocations(
  given: CallArguments,
  isMove: boolean,
  cwd: string | undefined,
): ToolCallLocation[] {
  const named = isMove
    ? findMovePaths(given)
    : [findCallPath(given), ...filterStrings(given.paths), ...parsePatchPaths(given)];
  const paths = named.flatMap((path) => {
    const place = path === undefined ? undefined : resolveCallPath(path, cwd);
    return place === undefined ? [] : [place];
  });
  const line = findLine(given);
  return [...new Set(paths)]
    .slice(0, MAX_LOCATIONS)
    .map((path, at) => (at === 0 && line !== undefined ? { path, line } : { path }));
}

/** Nothing for what is no place in the file system, or one that cannot be known. */
export function resolveCallPath(path: string, cwd: string | undefined): string | undefined {
  if (path.includes("\0") || path.startsWith("~") || /^[a-z][a-z0-9+.-]+:/i.test(path)) return undefined;
  if (isAbsolute(path)) return resolve(path);
  return cwd === undefined ? undefined : resolve(cwd, path);
}

function findLine(given: CallArguments): number | undefined {
  const range = Array.isArray(given.view_range) ? (given.view_range as readonly unknown[])[0] : undefined;
  const line = Number(findCallArgument(given, LINES) ?? range);
  return Number.isInteger(line) && line >= 1 && line <= MAX_LINE ? line : undefined;
}

function filterStrings(paths: unknown): readonly string[] {
  return Array.isArray(paths) ? paths.filter((path): path is string => typeof path === "string") : [];
}

/** A patch given as one text. */
export function findCallPatch(given: CallArguments): string | undefined {
  const patch = findCallArgument(given, ["patch", "diff", "input", "patch_text", "raw"]);
  return patch !== undefined && /^(\*\*\* |--- |\+\+\+ |@@ )/m.test(patch) ? patch : undefined;
}

function parsePatchPaths(given: CallArguments): readonly string[] {
  const patch = findCallPatch(given);
  if (patch === undefined) return [];
  const heads = patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)([^\t\r\n]+)/gm);
  return [...heads].slice(0, MAX_LOCATIONS).flatMap(([, path]) => (path === undefined ? [] : [path]));
}

export interface CallEdit {
  readonly oldText: string | null;
  readonly newText: string;
}

const OLD = ["old_string", "old_str", "oldText", "old_text", "oldString", "old", "search"];
const NEW = ["new_string", "new_str", "newText", "new_text", "newString", "new", "replace"];
const CONTENTS = ["content", "contents", "file_text", "text", "fileText"];

/** What a file is to hold; nothing was said about what it holds now. */
export function findCallWrites(given: CallArguments): readonly CallEdit[] {
  const name = CONTENTS.find((key) => typeof given[key] === "string");
  return name === undefined ? [] : [{ oldText: null, newText: String(given[name]) }];
}

/** What is to be replaced, one or several places at once. */
export function findCallEdits(given: CallArguments): readonly CallEdit[] {
  const edits = Array.isArray(given.edits) ? (given.edits as readonly unknown[]) : [given];
  return edits.flatMap((edit) => {
    if (typeof edit !== "object" || edit === null) return [];
    const fields = edit as CallArguments;
    const before = OLD.find((key) => typeof fields[key] === "string");
    const after = NEW.find((key) => typeof fields[key] === "string");
    if (before === undefined || after === undefined) return [];
    return [{ oldText: String(fields[before]), newText: String(fields[after]) }];
  });
}
