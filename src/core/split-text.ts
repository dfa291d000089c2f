/** A line that opens or closes a block of code, and what its language is. A longer run of marks is a line drawn with them. */
const FENCE = /^ {0,3}(`{3,16}(?!`)|~{3,16}(?!~))([^\n`]*)$/;

/**
 * A text in pieces of at most `limit` UTF-16 units. Pieces end where a reader would pause: between paragraphs, lines or
 * words, in this order, as long as they are not too short for it. A block of code that is cut is closed, and opened again
 * in the next piece, so that each piece can be read by itself.
 */
export function splitText(text: string, limit: number): string[] {
  const pieces: string[] = [];
  /** Opens a block again that the last piece had to close. */
  let prefix = "";
  let from = 0;
  while (prefix.length + text.length - from > limit) {
    // Only what one piece can hold is looked at: reading all that follows for each piece would take ever longer.
    const window = prefix + text.slice(from, from + limit - prefix.length);
    const fence = findOpenFence(window);
    // What closes a block must fit, too: its fence may be longer than three.
    const room = fence === undefined ? limit : limit - fence.mark.length - 1;
    const at = Math.max(prefix.length + 1, findCut(window, room, fence?.from ?? 0));
    const head = window.slice(0, at);
    const open = findOpenFence(head);
    from += at - prefix.length;
    const next = text.slice(from, from + limit);
    if (open === undefined) {
      pieces.push(head.trimEnd());
      prefix = "";
      from += /^\s*\n|^ +/.exec(next)?.[0].length ?? 0;
    } else {
      pieces.push(`${head.replace(/\n$/, "")}\n${open.mark}`);
      prefix = `${open.line}\n`;
      if (next.startsWith("\n")) from += 1;
    }
  }
  pieces.push(prefix + text.slice(from));
  return pieces.filter((piece) => piece !== "");
}

export interface OpenFence {
  readonly mark: string;
  /** The line that opened it, to be repeated. */
  readonly line: string;
  /** Where its content begins. */
  readonly from: number;
}

/** The block of code that is still open at the end of a text. */
export function findOpenFence(text: string): OpenFence | undefined {
  let open: OpenFence | undefined;
  let at = 0;
  for (const line of text.split("\n")) {
    at += line.length + 1;
    open = advanceFence(line, open, at);
  }
  return open;
}

/** The block that is open after a line which ends at `at`. */
export function advanceFence(line: string, open: OpenFence | undefined, at: number): OpenFence | undefined {
  const [, mark = "", info = ""] = FENCE.exec(line) ?? [];
  if (mark === "") return open;
  if (open === undefined) return { mark, line: `${mark}${info}`.slice(0, 40), from: at };
  const isClosed = info.trim() === "" && mark[0] === open.mark[0] && mark.length >= open.mark.length;
  return isClosed ? undefined : open;
}

/** Where to cut so that at most `room` units come before, and more than what was only repeated. */
function findCut(text: string, room: number, atLeast: number): number {
  const window = text.slice(0, room);
  for (const pause of ["\n\n", "\n", " "]) {
    const at = window.lastIndexOf(pause) + pause.length;
    // A piece of a few words followed by a long one reads worse than a word that is cut.
    if (at > pause.length && at > Math.max(room / 3, atLeast)) return at;
  }
  const last = text.charCodeAt(room - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return Math.max(1, isHalf ? room - 1 : room);
}
