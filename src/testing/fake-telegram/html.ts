/** The visible text, or Telegram's error. */
export type ParsedHtml = { readonly text: string } | { readonly error: string };

const TAGS: ReadonlySet<string> = new Set(
  "b strong i em u ins s strike del code pre a blockquote tg-spoiler span tg-emoji".split(" "),
);
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"' };

/** Parses HTML as strictly as the Bot API: only supported tags, closed in order. */
export function parseHtml(html: string): ParsedHtml {
  const open: string[] = [];
  let text = "";
  let at = 0;
  const fail = (what: string): ParsedHtml => ({
    error: `Bad Request: can't parse entities: ${what} at byte offset ${Buffer.byteLength(html.slice(0, at))}`,
  });
  while (at < html.length) {
    const char = html[at];
    if (char === "&") {
      const found = /^&(?:(lt|gt|amp|quot)|#(\d{1,7})|#x([\da-f]{1,6}));/i.exec(html.slice(at, at + 12));
      const code = found?.[2] === undefined ? Number.parseInt(found?.[3] ?? "0", 16) : Number(found[2]);
      if (found === null) text += "&";
      else if (found[1] !== undefined) text += ENTITIES[found[1].toLowerCase()];
      else if (code > 0 && code <= 0x10ffff) text += String.fromCodePoint(code);
      at += found?.[0].length ?? 1;
      continue;
    }
    if (char !== "<") {
      text += char;
      at += 1;
      continue;
    }
    const closing = /^<\/([a-z-]+)\s*>/i.exec(html.slice(at, at + 32));
    if (closing !== null) {
      const name = closing[1]?.toLowerCase();
      const expected = open.pop();
      if (expected === undefined) return fail("Unexpected end tag");
      if (expected !== name) return fail(`Unmatched end tag, expected "</${expected}>", found "</${name}>"`);
      at += closing[0].length;
      continue;
    }
    const opening = /^<([a-z-]+)((?:\s+[a-z-]+(?:\s*=\s*"[^"<>]*")?)*)\s*>/i.exec(html.slice(at));
    const name = opening?.[1]?.toLowerCase();
    if (opening === null || name === undefined) return fail("Unclosed or malformed start tag");
    if (!TAGS.has(name)) return fail(`Unsupported start tag "${name}"`);
    if (name === "span" && !/class\s*=\s*"tg-spoiler"/.test(opening[2] ?? "")) {
      return fail('Tag "span" must have class "tg-spoiler"');
    }
    if (name === "a" && !/\shref\s*=/.test(opening[2] ?? ""))
      return fail('Tag "a" must have attribute "href"');
    if (name === "blockquote" && open.includes(name)) return fail("Nested blockquote");
    open.push(name);
    at += opening[0].length;
  }
  const left = open.at(-1);
  return left === undefined ? { text } : fail(`Can't find end tag corresponding to start tag "${left}"`);
}
