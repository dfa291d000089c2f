/** Removes terminal codes: colours, cursor movement, titles, links. Takes linear time, also for unterminated codes. */
export function stripTerminalCodes(text: string): string {
  return text.includes("\x1b") || text.includes("\x9b") ? text.replaceAll(CODE, "") : text;
}

/**
 * CSI with parameters; a string such as a title, which ends on its own line; any other escape. No part matches an escape
 * character, so an unterminated code is read only once.
 */
const CODE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]/g;
