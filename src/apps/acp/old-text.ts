import { readFileSync, statSync } from "node:fs";
import { type Part, type ToolCall, textOf } from "../../core/message.ts";
import { actionOf } from "./tool-action.ts";
import { absolute, givenIn, pathIn, writtenIn } from "./tool-arguments.ts";

export const UNKNOWN: unique symbol = Symbol("unknown");

/** What a file held before it is written: its text, or `null` where there is none. */
export type OldText = string | null | typeof UNKNOWN;

/** A longer one would not be shown. */
const MOST_BYTES = 128 * 1024;

/** Read before the call acts. A server's paths may be of its own world, so its files are not looked for here. */
export function oldTextFor(call: ToolCall, cwd: string | undefined): OldText {
  const given = givenIn(call.arguments);
  const { act, server } = actionOf(call.name, given);
  if (act !== "write" || server !== undefined) return null;
  const path = pathIn(given);
  const file = path === undefined ? undefined : absolute(path, cwd);
  if (file === undefined) return UNKNOWN;
  const text = textIn(file);
  // Another process acts on what this one only shows: it may have written the file already.
  return text === writtenIn(given)[0]?.newText ? UNKNOWN : text;
}

/** The same for a call of which only the result is known. */
export function oldTextAfter(parts: readonly Part[]): OldText {
  return textOf({ parts }).startsWith("Overwrote ") ? UNKNOWN : null;
}

function textIn(file: string): OldText {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined) return null;
    if (!found.isFile() || found.size > MOST_BYTES) return UNKNOWN;
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
  } catch {
    return UNKNOWN; // it may not be read, or is no text
  }
}
