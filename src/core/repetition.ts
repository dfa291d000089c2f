/** The first line of a message that may be in the chat already: a crash came before its outcome was stored. */
export const REPEATED_MARK = "↻ You may have received this already:";

/** Adds the mark once, regardless of the number of attempts. */
export function markAsRepeated(text: string): string {
  return isMarkedAsRepeated(text) ? text : `${REPEATED_MARK}\n${text}`;
}

export function isMarkedAsRepeated(text: string): boolean {
  return text.startsWith(REPEATED_MARK);
}
