/** The beginning, with a mark if there was more; no longer than `most` and never half a character. */
export function truncateText(text: string, most: number): string {
  return text.length <= most ? text : `${takeStart(text, most - 1)}…`;
}

/** On one line, without what steers a terminal or turns the reading direction. */
export function toSingleLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(CONTROL_CHARACTERS, "").trim();
}

const CONTROL_CHARACTERS = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export const MAX_RESULT_LENGTH = 5_000;
const SHOWN_RESULT_LENGTH = 4_900;

/** What a tool answered, as much of it as somebody reads in an editor. */
export function truncateResult(text: string): { readonly text: string; readonly note?: string } {
  if (text.length <= MAX_RESULT_LENGTH) return { text };
  const note = `… (truncated, ${text.length} characters in all)`;
  return { text: takeStart(text, SHOWN_RESULT_LENGTH), note };
}

/** As JSON. What an editor keeps of each call; the whole is in the session. */
const MAX_RAW_LENGTH = 64 * 1024;
/** However its characters are escaped, it is within the limit. */
const SHOWN_RAW_LENGTH = 10_000;

/** Data for whoever looks behind a call, or its beginning where that would be too much. */
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
