import type { InlineKeyboardButton } from "grammy/types";
import type { Buttons } from "../../core/delivery.ts";

/** What a button may carry, in bytes. */
const MAX_DATA = 64;
/** What a button may put into the clipboard, in characters. */
const MAX_COPY = 256;
const LINE = "=";
const LABEL = "#";

/**
 * Buttons carry their line, so that they work after any restart. A choice that is too long for that is named by its
 * place, and its line is read from the button's own label. Any other long line is put into the clipboard when pressed: the
 * person sends it themselves. What is longer still has no button.
 */
export function buildKeyboard(buttons: Buttons): InlineKeyboardButton[][] {
  return buttons
    .map((row, y) =>
      row.flatMap(({ label, line }, x): InlineKeyboardButton[] => {
        const text = label.trim() === "" ? line : label;
        if (Buffer.byteLength(line) < MAX_DATA) return [{ text, callback_data: `${LINE}${line}` }];
        if (line === label) return [{ text, callback_data: `${LABEL}${y}.${x}` }];
        return line.length <= MAX_COPY ? [{ text, copy_text: { text: line } }] : [];
      }),
    )
    .filter((row) => row.length > 0);
}

/** The line that a pressed button stands for. */
export function readButtonLine(
  data: string,
  keyboard: readonly (readonly InlineKeyboardButton[])[] | undefined,
): string | undefined {
  if (data.startsWith(LINE)) return data.slice(LINE.length).toWellFormed();
  if (!data.startsWith(LABEL)) return undefined;
  // Found by what it carries: a row that lost a button has other places.
  return keyboard?.flat().find((button) => "callback_data" in button && button.callback_data === data)?.text;
}
