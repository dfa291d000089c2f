import { readFileSync, statSync } from "node:fs";
import { getText, type Part, type ToolCall } from "../../core/message.ts";
import { findCallPath, findCallWrites, parseCallArguments, resolveCallPath } from "./call-arguments.ts";
import { classifyTool } from "./tool-action.ts";

export const UNKNOWN_TEXT: unique symbol = Symbol("unknown");

/** What a file held before it is written: its text, or `null` where there is none. */
export type OldText = string | null | typeof UNKNOWN_TEXT;

/** A longer one would not be shown. */
const MAX_BYTES = 128 * 1024;

/** Read before the call acts. A server's paths may be of its own world, so its files are not looked for here. */
export function readOldText(call: ToolCall, cwd: string | undefined): OldText {
  const given = parseCallArguments(call.arguments);
  const { operation, server } = classifyTool(call.name, given);
  if (operation !== "write" || server !== undefined) return null;
  const path = findCallPath(given);
  const file = path === undefined ? undefined : resolveCallPath(path, cwd);
  if (file === undefined) return UNKNOWN_TEXT;
  const text = readTextFile(file);
  // Another process acts on what this one only shows: it may have written the file already.
  return text === findCallWrites(given)[0]?.newText ? UNKNOWN_TEXT : text;
}

/** The same for a call of which only the result is known. */
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
    return UNKNOWN_TEXT; // it may not be read, or is no text
  }
}
