import { isAbsolute, resolve } from "node:path";
import type { ToolCallLocation } from "@agentclientprotocol/sdk/unstable";

/** The arguments of a tool call, by name. */
export type CallArguments = Readonly<Record<string, unknown>>;

/** Some models send the arguments as JSON text. Text that is not JSON becomes `raw`. */
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

/** The first of these arguments that has a value. A command may be a list of words, and a line a number. */
export function findCallArgument(args: CallArguments, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = args[name];
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
/** The limit of the protocol. */
const MAX_LINE = 2 ** 32 - 1;
const MAX_LOCATIONS = 20;

export function findCallPath(args: CallArguments): string | undefined {
  return findCallArgument(args, PATHS) ?? parsePatchPaths(args)[0];
}

/** The source and the destination of a move. */
export function findMovePaths(
  args: CallArguments,
): readonly [from: string | undefined, to: string | undefined] {
  return [findCallArgument(args, [...SOURCES, ...PATHS]), findCallArgument(args, DESTINATIONS)];
}

/** The files that the editor may show while the tool runs. */
export function findCallLocations(
  args: CallArguments,
  isMove: boolean,
  cwd: string | undefined,
): ToolCallLocation[] {
  const named = isMove
    ? findMovePaths(args)
    : [findCallPath(args), ...filterStrings(args.paths), ...parsePatchPaths(args)];
  const paths = named.flatMap((path) => {
    const absolute = path === undefined ? undefined : resolveCallPath(path, cwd);
    return absolute === undefined ? [] : [absolute];
  });
  const line = findLine(args);
  return [...new Set(paths)]
    .slice(0, MAX_LOCATIONS)
    .map((path, at) => (at === 0 && line !== undefined ? { path, line } : { path }));
}

/** The absolute path; `undefined` for URLs and for paths that cannot be resolved. */
export function resolveCallPath(path: string, cwd: string | undefined): string | undefined {
  if (path.includes("\0") || path.startsWith("~") || /^[a-z][a-z0-9+.-]+:/i.test(path)) return undefined;
  if (isAbsolute(path)) return resolve(path);
  return cwd === undefined ? undefined : resolve(cwd, path);
}

function findLine(args: CallArguments): number | undefined {
  const range = Array.isArray(args.view_range) ? (args.view_range as readonly unknown[])[0] : undefined;
  const line = Number(findCallArgument(args, LINES) ?? range);
  return Number.isInteger(line) && line >= 1 && line <= MAX_LINE ? line : undefined;
}

function filterStrings(paths: unknown): readonly string[] {
  return Array.isArray(paths) ? paths.filter((path): path is string => typeof path === "string") : [];
}

/** A patch that is one text argument. */
export function findCallPatch(args: CallArguments): string | undefined {
  const patch = findCallArgument(args, ["patch", "diff", "input", "patch_text", "raw"]);
  return patch !== undefined && /^(\*\*\* |--- |\+\+\+ |@@ )/m.test(patch) ? patch : undefined;
}

function parsePatchPaths(args: CallArguments): readonly string[] {
  const patch = findCallPatch(args);
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

/** The new content of a file. The arguments do not contain the old content. */
export function findCallWrites(args: CallArguments): readonly CallEdit[] {
  const name = CONTENTS.find((key) => typeof args[key] === "string");
  return name === undefined ? [] : [{ oldText: null, newText: String(args[name]) }];
}

/** The replacements in a file. */
export function findCallEdits(args: CallArguments): readonly CallEdit[] {
  const edits = Array.isArray(args.edits) ? (args.edits as readonly unknown[]) : [args];
  return edits.flatMap((edit) => {
    if (typeof edit !== "object" || edit === null) return [];
    const fields = edit as CallArguments;
    const before = OLD.find((key) => typeof fields[key] === "string");
    const after = NEW.find((key) => typeof fields[key] === "string");
    if (before === undefined || after === undefined) return [];
    return [{ oldText: String(fields[before]), newText: String(fields[after]) }];
  });
}
