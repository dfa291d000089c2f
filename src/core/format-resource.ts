import { fenceCode } from "./fence.ts";

/** Formats an attached file, or a part of one, for the model: name, line numbers and the text as a code block. */
export function formatResource({ uri, text }: { readonly uri: string; readonly text?: string }): string {
  const { name, lines } = parseLocation(uri);
  const title = lines === undefined ? name : `${name}, ${lines}`;
  if (text === undefined) return `[resource ${title}]`;
  return `${title}:\n${fenceCode(text, getLanguage(name))}`;
}

/** The path of a `file:` URI (other URIs unchanged) and the lines of its fragment, such as `#L10-20`. */
function parseLocation(uri: string): { readonly name: string; readonly lines?: string } {
  const [, address = uri, from, to] = /^(.*)#L?(\d+)(?:[-:]L?(\d+))?$/s.exec(uri) ?? [];
  const name = address.startsWith("file://") ? parsePath(address) : address;
  if (from === undefined) return { name };
  return { name, lines: to === undefined || to === from ? `line ${from}` : `lines ${from}-${to}` };
}

function parsePath(address: string): string {
  const path = address.slice("file://".length).replace(/\?[^/]*$/, "");
  try {
    return decodeURIComponent(path).replaceAll(/\p{Cc}/gu, " ");
  } catch {
    return path; // a percent sign that is no escape
  }
}

/** The file extension, which is the language's name for many languages. */
function getLanguage(name: string): string {
  return /\.([A-Za-z0-9]{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? "";
}
