/** At most `maxLength` characters, with an ellipsis if the text is longer. Never splits a surrogate pair. */
export function truncateText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${takeStart(text, maxLength - 1)}…`;
}

/** On one line, without characters that control a terminal or the reading direction. */
export function toSingleLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(CONTROL_CHARACTERS, "").trim();
}

const CONTROL_CHARACTERS = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export const MAX_RESULT_LENGTH = 5_000;
const SHOWN_RESULT_LENGTH = 4_900;

/** The output of a tool, shortened for a card. */
export function truncateResult(text: string): { readonly text: string; readonly note?: string } {
  if (text.length <= MAX_RESULT_LENGTH) return { text };
  const note = `… (truncated, ${text.length} characters in all)`;
  return { text: takeStart(text, SHOWN_RESULT_LENGTH), note };
}

/** The size as JSON. Editors keep this data in memory; the session has all of it. */
const MAX_RAW_LENGTH = 64 * 1024;
/** Below the limit even if every character is escaped. */
const SHOWN_RAW_LENGTH = 10_000;

/** The raw data of a call, or its beginning if it is too long. */
export function limitDataSize(value: unknown): unknown {
  const json = JSON.stringify(value);
  if (json === undefined || json.length <= MAX_RAW_LENGTH) return value;
  const written = typeof value === "string" ? value : json;
  return {
    truncated: true,
    characters: written.length,
    beginning: takeStart(written, SHOWN_RAW_LENGTH),
  };
}

function takeStart(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? length - 1 : length);
}
