/**
 * The wrapper shell prints this after its command has ended: when it has come through, all that the command printed has. By
 * time alone nobody could tell, since a busy machine may be slow, and a child that was left behind may go on printing.
 */
export function buildEndMark(id: string): string {
  return `\x1e${id} ended\x1e`;
}

export interface MarkedText {
  readonly text: string;
  /** How many characters at the end are held back, because they may be the beginning of the mark. */
  readonly held: number;
  readonly isEnd: boolean;
}

/** Takes the mark, and all that comes after it, out of a text that comes in pieces. */
export function createEndMarkFilter(id: string): (text: string) => MarkedText {
  const mark = buildEndMark(id);
  let held = "";
  return (given) => {
    const text = held + given;
    const at = text.indexOf(mark);
    if (at >= 0) return { text: text.slice(0, at), held: 0, isEnd: true };
    const last = text.lastIndexOf(mark.charAt(0));
    const isBeginning = last >= 0 && text.length - last < mark.length && mark.startsWith(text.slice(last));
    held = isBeginning ? text.slice(last) : "";
    return { text: isBeginning ? text.slice(0, last) : text, held: held.length, isEnd: false };
  };
}
