import { KEPT_OUTPUT } from "../core/process.ts";

/** The last part of the output that is not stored yet. Its cost does not depend on how much was printed before. */
export interface OutputBuffer {
  add(text: string): void;
  /** The position of the first character that is still here in the whole output, and the text from there. */
  peek(): { readonly from: number; readonly text: string };
  /** The output before this position is no longer needed. */
  drop(upTo: number): void;
}

/** Small pieces are joined: a process that prints single letters must not create a list of letters. */
const CHUNK_LENGTH = 8192;

/** `start` is the position of the first character that is added. */
export function createOutputBuffer(max: number = KEPT_OUTPUT, start = 0): OutputBuffer {
  let pieces: string[] = [];
  let from = start;
  let length = 0;

  function dropFirst(): void {
    const first = pieces.shift() ?? "";
    from += first.length;
    length -= first.length;
  }

  return {
    add(text) {
      if (text === "") return;
      const last = pieces.at(-1);
      if (last !== undefined && last.length + text.length <= CHUNK_LENGTH)
        pieces[pieces.length - 1] = last + text;
      else pieces.push(text);
      length += text.length;
      while (length - (pieces[0]?.length ?? 0) >= max) dropFirst();
    },
    peek() {
      const text = pieces.join("");
      const cut = alignToCharacter(text, text.length - max);
      return { from: from + cut, text: text.slice(cut) };
    },
    drop(upTo) {
      while (pieces.length > 0 && from + (pieces[0]?.length ?? 0) <= upTo) dropFirst();
      const rest = upTo - from;
      if (rest <= 0) return;
      const [first = "", ...others] = pieces;
      pieces = [first.slice(rest), ...others];
      from += rest;
      length -= rest;
    },
  };
}

/** Never in the middle of a character that takes two UTF-16 units. */
function alignToCharacter(text: string, index: number): number {
  const at = Math.max(0, index);
  const code = text.charCodeAt(at);
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
