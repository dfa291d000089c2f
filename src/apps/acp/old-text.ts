import { readFileSync, statSync } from "node:fs";
import { getText, type Part, type ToolCall } from "../../core/message.ts";
import { findCallPath, findCallWrites, parseCallArguments, resolveCallPath } from "./call-arguments.ts";
import { classifyTool } from "./tool-action.ts";

export const UNKNOWN_TEXT: unique symbol = Symbol("unknown");

/** The text of a file before a call writes it; `null` if there is no file. */
export type OldText = string | null | typeof UNKNOWN_TEXT;

/** Longer diffs are not shown. */
const MAX_BYTES = 128 * 1024;

/** Called before the tool runs. Paths of MCP tools may belong to another machine, so they are not read. */
export function readOldText(call: ToolCall, cwd: string | undefined): OldText {
  const args = parseCallArguments(call.arguments);
  const { operation, server } = classifyTool(call.name, args);
  if (operation !== "write" || server !== undefined) return null;
  const path = findCallPath(args);
  const file = path === undefined ? undefined : resolveCallPath(path, cwd);
  if (file === undefined) return UNKNOWN_TEXT;
  const text = readTextFile(file);
  // Another process may run the call, and may have written the file already.
  return text === findCallWrites(args)[0]?.newText ? UNKNOWN_TEXT : text;
}

/** The old text as far as the result of a finished call shows it. */
export function inferOldText(parts: readonly Part[]): OldText {
  return getText({ parts }).startsWith("Overwrote ") ? UNKNOWN_TEXT : null;
}

function readTextFile(file: string): OldText {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined) return null;
    if (!found.isFile() || found.size > MAX_BYTES) return UNKNOWN_TEXT;
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
  } catch {
    return UNKNOWN_TEXT; // no permission, or not text
  }
}
