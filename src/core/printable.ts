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

/** Escapes invisible characters and line breaks in a path, so that it is shown on one line as it is. */
export function escapePath(path: string): string {
  return path.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** Removes terminal codes: colours, cursor movement, titles, links. Takes linear time, also for unterminated codes. */
export function stripTerminalCodes(text: string): string {
  return text.includes("\x1b") || text.includes("\x9b") ? text.replaceAll(TERMINAL_CODE, "") : text;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it replaces
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g;

function toControlPicture(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

/**
 * CSI with parameters; a string such as a title, which ends on its own line; any other escape. No part matches an escape
 * character, so an unterminated code is read only once.
 */
const TERMINAL_CODE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]/g;
