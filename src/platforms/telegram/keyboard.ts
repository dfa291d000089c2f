import type { InlineKeyboardButton } from "grammy/types";
import type { Buttons } from "../../core/delivery.ts";

/** The maximum callback data of a button, in bytes. */
const MAX_DATA = 64;
/** The maximum text that a button can copy to the clipboard, in characters. */
const MAX_COPY = 256;
const LINE = "=";
const LABEL = "#";

/**
 * Buttons contain their line, so that they work after a restart. If the line is too long and equals the label, the button
 * contains its position and the line is read from the label. Other long lines are copied to the clipboard, for the person to
 * send. Even longer lines get no button.
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

/** The line of a pressed button. */
export function readButtonLine(
  data: string,
  keyboard: readonly (readonly InlineKeyboardButton[])[] | undefined,
): string | undefined {
  if (data.startsWith(LINE)) return data.slice(LINE.length).toWellFormed();
  if (!data.startsWith(LABEL)) return undefined;
  // Found by its data, because positions change in a row that lost a button.
  return keyboard?.flat().find((button) => "callback_data" in button && button.callback_data === data)?.text;
}
