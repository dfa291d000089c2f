/** The beginning, with a mark if there was more; no longer than `most` and never half a character. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${beginning(text, most - 1)}…`;
}

/** On one line, without what steers a terminal or turns the reading direction. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(STEERING, "").trim();
}

const STEERING = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export const LONGEST_RESULT = 5_000;
const SHOWN_OF_RESULT = 4_900;

/** What a tool answered, as much of it as somebody reads in an editor. */
export function cutResult(text: string): { readonly text: string; readonly note?: string } {
  if (text.length <= LONGEST_RESULT) return { text };
  const note = `… (truncated, ${text.length} characters in all)`;
  return { text: beginning(text, SHOWN_OF_RESULT), note };
}

/** As JSON. What an editor keeps of each call; the whole is in the session. */
const MOST_RAW = 64 * 1024;
/** However its characters are escaped, it is within the limit. */
const SHOWN_OF_RAW = 10_000;

/** Data for whoever looks behind a call, or its beginning where that would be too much. */
export function boundedData(value: unknown): unknown {
  const json = JSON.stringify(value);
  if (json === undefined || json.length <= MOST_RAW) return value;
  const written = typeof value === "string" ? value : json;
  return {
    truncated: true,
    characters: written.length,
    beginning: beginning(written, SHOWN_OF_RAW),
  };
}

function beginning(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? length - 1 : length);
}
