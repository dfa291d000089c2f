/** How something is called that has an address: the last segment of its path. */
export function getAttachmentName(uri: string): string {
  const path = uri.replace(/[?#][\s\S]*$/, "");
  const last = path.split(/[/\\]/).findLast((segment) => segment !== "") ?? "";
  return decodePercent(last).replaceAll(UNSAFE_CHARACTERS, "_").trim() || "attachment";
}

/** The address of something that has only a name. */
export function buildAttachmentUri(name: string): string {
  return `attachment:///${encodeURIComponent(name.toWellFormed())}`;
}

/** Whether an address already says this, as `…/notes.md` or `…?name=My+notes` does. */
export function hasTextInUri(uri: string, said: string): boolean {
  return [uri, decodePercent(uri), decodePercent(uri.replaceAll("+", " "))].some((written) =>
    written.includes(said),
  );
}

/** What separates folders or steers a terminal is no part of a name. */
const UNSAFE_CHARACTERS = /[/\\\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

function decodePercent(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written; // a stray percent sign: it stands for itself
  }
}
