/** A line that opens or closes a block of code, and what its language is. */
const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n`]*)$/;

/**
 * A text in pieces of at most `limit` UTF-16 units. Pieces end where a reader would pause: between paragraphs, lines or
 * words, in this order, as long as they are not too short for it. A block of code that is cut is closed, and opened again
 * in the next piece, so that each piece can be read by itself.
 */
export function splitText(text: string, limit: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > limit) {
    // What closes a block must fit, too: its fence may be longer than three.
    const fence = openFence(rest.slice(0, limit));
    const room = fence === undefined ? limit : limit - fence.mark.length - 1;
    const at = cutAt(rest, room, fence?.from ?? 0);
    const head = rest.slice(0, at);
    const open = openFence(head);
    const tail = rest.slice(at);
    if (open === undefined) {
      pieces.push(head.trimEnd());
      rest = tail.replace(/^\s*\n|^ +/, "");
    } else {
      pieces.push(`${head.replace(/\n$/, "")}\n${open.mark}`);
      rest = `${open.line}\n${tail.replace(/^\n/, "")}`;
    }
  }
  pieces.push(rest);
  return pieces.filter((piece) => piece !== "");
}

interface OpenFence {
  readonly mark: string;
  /** The line that opened it, to be repeated. */
  readonly line: string;
  /** Where its content begins. */
  readonly from: number;
}

/** The block of code that is still open at the end of a text. */
export function openFence(text: string): OpenFence | undefined {
  let open: OpenFence | undefined;
  let at = 0;
  for (const line of text.split("\n")) {
    at += line.length + 1;
    const [, mark = "", info = ""] = FENCE.exec(line) ?? [];
    if (mark === "") continue;
    if (open === undefined) open = { mark, line: `${mark}${info}`.slice(0, 40), from: at };
    else if (info.trim() === "" && mark[0] === open.mark[0] && mark.length >= open.mark.length)
      open = undefined;
  }
  return open;
}

/** Where to cut so that at most `room` units come before, and more than what was only repeated. */
function cutAt(text: string, room: number, atLeast: number): number {
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
