import { stripTerminalCodes } from "../core/terminal-codes.ts";
import type { ToolContext } from "./tool-context.ts";

/** What a command has printed, as a person at a terminal reads it: no colours, and the last state of overwritten lines. */
export function toReadableOutput(printed: string): string {
  return stripTerminalCodes(printed)
    .split("\n")
    .map((line) => (/[\r\b]/.test(line) ? renderOverwrittenLine(line) : line))
    .join("\n")
    .replaceAll(/[^\P{Cc}\t\n]/gu, "");
}

/** The last characters, and no half of a pair. */
export function takeLastCharacters(text: string, most: number): string {
  return text.slice(-most).replace(/^[\uDC00-\uDFFF]/, "");
}

/** Its lines; the last one need not end in a line break. */
export function splitOutputLines(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

export interface ReadableOutput {
  readonly text: string;
  /** Whether the beginning is no longer kept. */
  readonly isTruncated: boolean;
}

/** All that is kept of what a process has printed, to be read. */
export async function readReadableOutput({ store, asker }: ToolContext, id: string): Promise<ReadableOutput> {
  const output = await store.processes.readProcessOutput({ asker, id });
  if (output === undefined) return { text: "", isTruncated: false };
  const isCut = output.from > 0;
  // A cut may have fallen into a line, or into the code of a colour.
  const kept = isCut ? output.text.slice(output.text.indexOf("\n") + 1) : output.text;
  return { text: toReadableOutput(kept), isTruncated: isCut };
}

/** A progress bar rewrites its line: only its last state is worth reading. Returns before the line break go, too. */
function renderOverwrittenLine(line: string): string {
  const written = line.split("\r").findLast((state) => state !== "") ?? "";
  const shown: string[] = [];
  for (const character of written) {
    if (character === "\b") shown.pop();
    else shown.push(character);
  }
  return shown.join("");
}
