import { closeSync, openSync, readSync } from "node:fs";
import { parsePythonJson } from "./lossless-json.ts";

/** One line of a transcript: a record, or the reason why it is invalid. */
export type TranscriptLine =
  | { readonly line: number; readonly record: Readonly<Record<string, unknown>> }
  | { readonly line: number; readonly why: string; readonly tooLarge?: true };

/** Longer than any valid message, base64 included. Longer lines are never held in memory. */
export const MAX_LINE_BYTES: number = 64 * 1024 * 1024;
const CHUNK = 256 * 1024;
const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = /^\uFEFF/;

/** Reads a transcript line by line and skips blank lines. */
export function* readTranscript(file: string, maxLine: number = MAX_LINE_BYTES): Generator<TranscriptLine> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let line = 0;
  for (const bytes of readLineBytes(file, maxLine)) {
    line += 1;
    if (bytes === undefined) {
      yield { line, why: `longer than ${maxLine} bytes`, tooLarge: true };
      continue;
    }
    let text: string;
    try {
      text = decoder.decode(bytes);
    } catch {
      yield { line, why: "not valid UTF-8" };
      continue;
    }
    if (line === 1) text = text.replace(BYTE_ORDER_MARK, "");
    if (text.trim() !== "") yield { line, ...parseRecord(text) };
  }
}

type ParsedRecord = { readonly record: Readonly<Record<string, unknown>> } | { readonly why: string };

function parseRecord(text: string): ParsedRecord {
  try {
    const value = parsePythonJson(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { record: value as Readonly<Record<string, unknown>> };
    return { why: "not an object" };
  } catch {
    return { why: "not JSON" };
  }
}

/** The bytes of each line; `undefined` for a line that is too long. */
function* readLineBytes(file: string, maxLine: number): Generator<Uint8Array | undefined> {
  const descriptor = openSync(file, "r");
  const chunk = Buffer.allocUnsafe(CHUNK);
  let held: Buffer[] = [];
  let length = 0;
  const add = (bytes: Buffer): void => {
    length += bytes.length;
    if (length <= maxLine) held.push(Buffer.from(bytes));
    else held = [];
  };
  const take = (): Uint8Array | undefined => {
    const line = length > maxLine ? undefined : Buffer.concat(held);
    held = [];
    length = 0;
    return line;
  };
  try {
    for (;;) {
      const size = readSync(descriptor, chunk, 0, CHUNK, null);
      if (size === 0) break;
      let from = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1 && end < size; end = chunk.indexOf(NEWLINE, from)) {
        add(chunk.subarray(from, end));
        yield take();
        from = end + 1;
      }
      add(chunk.subarray(from, size));
    }
    if (length > 0) yield take();
  } finally {
    closeSync(descriptor);
  }
}
