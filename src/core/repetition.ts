/**
 * The first line of a message that may stand in the chat already: the process fell after sending it and before noting
 * that, and the platform cannot be asked. Whoever reads it twice knows why.
 */
export const REPEATED_MARK = "↻ You may have received this already:";

/** The text as it is sent again. Marked once, however often it is tried. */
export function markAsRepeated(text: string): string {
  return isMarkedAsRepeated(text) ? text : `${REPEATED_MARK}\n${text}`;
}

export function isMarkedAsRepeated(text: string): boolean {
  return text.startsWith(REPEATED_MARK);
}
