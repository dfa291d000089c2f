/** The name of an attachment: the last segment of the path in its URI. */
export function getAttachmentName(uri: string): string {
  const path = uri.replace(/[?#][\s\S]*$/, "");
  const last = path.split(/[/\\]/).findLast((segment) => segment !== "") ?? "";
  return decodePercent(last).replaceAll(UNSAFE_CHARACTERS, "_").trim() || "attachment";
}

/** A URI for an attachment that has only a name. */
export function buildAttachmentUri(name: string): string {
  return `attachment:///${encodeURIComponent(name.toWellFormed())}`;
}

/** Whether the URI contains the text, as `…/notes.md` or `…?name=My+notes` does. */
export function hasTextInUri(uri: string, text: string): boolean {
  return [uri, decodePercent(uri), decodePercent(uri.replaceAll("+", " "))].some((written) =>
    written.includes(text),
  );
}

/** Path separators, and characters that control a terminal or the reading direction. */
const UNSAFE_CHARACTERS = /[/\\\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

function decodePercent(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written; // a percent sign that encodes nothing
  }
}
