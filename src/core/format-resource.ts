import { fenceCode } from "./fence.ts";

/** A file or a part of one that was attached, as a model reads it: its name, its lines and, in a fence, its text. */
export function formatResource({ uri, text }: { readonly uri: string; readonly text?: string }): string {
  const { name, lines } = parseLocation(uri);
  const title = lines === undefined ? name : `${name}, ${lines}`;
  if (text === undefined) return `[resource ${title}]`;
  return `${title}:\n${fenceCode(text, getLanguage(name))}`;
}

/** The path of a `file:` address, any other as it is; and the lines that its fragment means, as in `#L10-20`. */
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
    return path; // a stray percent sign: it stands for itself
  }
}

/** Many a language is called as its files end. */
function getLanguage(name: string): string {
  return /\.([A-Za-z0-9]{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? "";
}
