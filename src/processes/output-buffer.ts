import { KEPT_OUTPUT } from "../core/process.ts";

/** What was printed and is not stored yet; of that, the last. Its cost does not depend on how much was printed before. */
export interface OutputBuffer {
  add(text: string): void;
  /** The place of the first character that is still here in all that was printed; and all from there on. */
  peek(): { readonly from: number; readonly text: string };
  /** What stands before this place is not needed any more. */
  drop(upTo: number): void;
}

/** Small ones are put together: a program that prints letter by letter must not make a list of letters. */
const CHUNK_LENGTH = 8192;

/** `start` is the place of the first character that is added. */
export function createOutputBuffer(most: number = KEPT_OUTPUT, start = 0): OutputBuffer {
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
      while (length - (pieces[0]?.length ?? 0) >= most) dropFirst();
    },
    peek() {
      const text = pieces.join("");
      const cut = alignToCharacter(text, text.length - most);
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

/** Not in the middle of a character that takes two places. */
function alignToCharacter(text: string, wanted: number): number {
  const at = Math.max(0, wanted);
  const code = text.charCodeAt(at);
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
