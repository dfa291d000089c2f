import { stripTerminalCodes } from "../core/printable.ts";
import type { ToolContext } from "./tool-context.ts";

/** Turns terminal output into plain text: without colours, and with the last state of overwritten lines. */
export function toReadableOutput(printed: string): string {
  return stripTerminalCodes(printed)
    .split("\n")
    .map((line) => (/[\r\b]/.test(line) ? renderOverwrittenLine(line) : line))
    .join("\n")
    .replaceAll(/[^\P{Cc}\t\n]/gu, "");
}

/** The last characters, without half of a surrogate pair. */
export function takeLastCharacters(text: string, limit: number): string {
  return text.slice(-limit).replace(/^[\uDC00-\uDFFF]/, "");
}

/** Splits a text into lines; the last one may lack a line break. */
export function splitOutputLines(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

export interface ReadableOutput {
  readonly text: string;
  /** Whether the start is no longer stored. */
  readonly isTruncated: boolean;
}

/** The stored output of a process as plain text. */
export async function readReadableOutput({ store, asker }: ToolContext, id: string): Promise<ReadableOutput> {
  const output = await store.processes.readProcessOutput({ asker, id });
  if (output === undefined) return { text: "", isTruncated: false };
  const isCut = output.from > 0;
  // The cut may be inside a line or a colour code.
  const kept = isCut ? output.text.slice(output.text.indexOf("\n") + 1) : output.text;
  return { text: toReadableOutput(kept), isTruncated: isCut };
}

/** Keeps only the last state of a rewritten line, such as a progress bar. */
function renderOverwrittenLine(line: string): string {
  const written = line.split("\r").findLast((state) => state !== "") ?? "";
  const shown: string[] = [];
  for (const character of written) {
    if (character === "\b") shown.pop();
    else shown.push(character);
  }
  return shown.join("");
}
