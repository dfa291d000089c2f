/**
 * The wrapper shell prints this mark after its command has exited: once the mark is read, all output of the command is
 * read. Time alone cannot show that, since a busy machine is slow and a child that still runs can print more.
 */
export function buildEndMark(id: string): string {
  return `\x1e${id} ended\x1e`;
}

export interface MarkedText {
  readonly text: string;
  /** The number of characters at the end that are held back, because they may begin the mark. */
  readonly held: number;
  readonly isEnd: boolean;
}

/** Removes the mark, and everything after it, from a text that comes in pieces. */
export function createEndMarkFilter(id: string): (text: string) => MarkedText {
  const mark = buildEndMark(id);
  let held = "";
  return (piece) => {
    const text = held + piece;
    const at = text.indexOf(mark);
    if (at >= 0) return { text: text.slice(0, at), held: 0, isEnd: true };
    const last = text.lastIndexOf(mark.charAt(0));
    const isBeginning = last >= 0 && text.length - last < mark.length && mark.startsWith(text.slice(last));
    held = isBeginning ? text.slice(last) : "";
    return { text: isBeginning ? text.slice(0, last) : text, held: held.length, isEnd: false };
  };
}
