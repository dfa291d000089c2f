/** A line that opens or closes a code block, with its language. A longer run of marks is a drawn line, not a fence. */
const FENCE = /^ {0,3}(`{3,16}(?!`)|~{3,16}(?!~))([^\n`]*)$/;

/**
 * Splits a text into pieces of at most `limit` UTF-16 units, preferably between paragraphs, then lines, then words. A code
 * block that is split gets closed and is opened again in the next piece, so that each piece is valid Markdown.
 */
export function splitText(text: string, limit: number): string[] {
  const pieces: string[] = [];
  /** Opens the code block again that the previous piece closed. */
  let prefix = "";
  let from = 0;
  while (prefix.length + text.length - from > limit) {
    // Looks at one piece only. Reading the whole rest for each piece would take quadratic time.
    const window = prefix + text.slice(from, from + limit - prefix.length);
    const fence = findOpenFence(window);
    // The closing fence must fit too, and may be longer than three marks.
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
  /** The opening line, to be repeated. */
  readonly line: string;
  /** The offset of its content. */
  readonly from: number;
}

/** The code block that is open at the end of the text. */
export function findOpenFence(text: string): OpenFence | undefined {
  let open: OpenFence | undefined;
  let at = 0;
  for (const line of text.split("\n")) {
    at += line.length + 1;
    open = advanceFence(line, open, at);
  }
  return open;
}

/** The code block that is open after a line which ends at `at`. */
export function advanceFence(line: string, open: OpenFence | undefined, at: number): OpenFence | undefined {
  const [, mark = "", info = ""] = FENCE.exec(line) ?? [];
  if (mark === "") return open;
  if (open === undefined) return { mark, line: `${mark}${info}`.slice(0, 40), from: at };
  const isClosed = info.trim() === "" && mark[0] === open.mark[0] && mark.length >= open.mark.length;
  return isClosed ? undefined : open;
}

/** The offset of the cut: at most `room`, and beyond the repeated part. */
function findCut(text: string, room: number, atLeast: number): number {
  const window = text.slice(0, room);
  for (const pause of ["\n\n", "\n", " "]) {
    const at = window.lastIndexOf(pause) + pause.length;
    // A very short piece before a long one reads worse than a word that is cut.
    if (at > pause.length && at > Math.max(room / 3, atLeast)) return at;
  }
  const last = text.charCodeAt(room - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return Math.max(1, isHalf ? room - 1 : room);
}
