/**
 * Makes text of other people safe for a terminal: it cannot move the cursor, change colours or the reading direction. Control
 * characters become visible symbols.
 */
export function toPrintable(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(CONTROL, toControlPicture).replaceAll(DIRECTION, "");
}

/** `toPrintable` on one line, for tables. */
export function toOneLine(text: string): string {
  return toPrintable(text.replaceAll(/\s+/g, " ").trim());
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it replaces
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g;

function toControlPicture(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}
