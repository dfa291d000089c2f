import { type InlineNode, parseInline } from "./inline.ts";
import { countRepeats } from "./mark-index.ts";

/** A text as HTML, and its visible characters. */
export interface FormattedText {
  readonly html: string;
  readonly text: string;
}

/**
 * Converts Markdown to Telegram's HTML. Unsupported markup stays as text. The result is always valid, and its visible text is
 * never longer than the input, so a text within the limit stays within it.
 */
export function toHtml(markdown: string): FormattedText {
  const lines = markdown.toWellFormed().replaceAll("\r\n", "\n").split("\n");
  const out = new HtmlOutput();
  writeBlocks(lines, out, false);
  return { html: out.html, text: out.text };
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

class HtmlOutput {
  html = "";
  text = "";
  /** The open tags, to avoid nesting the same tag: a bold word in a heading is already bold. */
  readonly #open: string[] = [];

  addText(text: string): void {
    this.html += escapeHtml(text);
    this.text += text;
  }

  wrapInTag(tag: string, attributes: string, write: () => void): void {
    if (this.#open.includes(tag)) {
      write();
      return;
    }
    const [html, text] = [this.html, this.text];
    this.#open.push(tag);
    this.html += `<${tag}${attributes}>`;
    write();
    this.#open.pop();
    // Omits a tag without content.
    this.html = this.text === text ? html : `${this.html}</${tag}>`;
  }
}

const HEADING = /^ {0,3}#{1,6}[ \t]+(.*)$/s;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const BULLET = /^(\s*)[-*+][ \t]+(?:\[([ xX])\][ \t]+)?(\S.*)$/;
const QUOTE = /^ {0,3}>[ \t]?/;
/** Telegram supports only one level of quotes. */
const QUOTES = /^(?: {0,3}>[ \t]?)+/;

function writeBlocks(lines: readonly string[], out: HtmlOutput, quoted: boolean): void {
  let at = 0;
  while (at < lines.length) {
    if (at > 0) out.addText("\n");
    const line = lines[at] ?? "";
    const fence = parseFence(line);
    const heading = HEADING.exec(line);
    const bullet = BULLET.exec(line);
    if (fence !== undefined) at = writeFence(lines, at, fence, out);
    else if (QUOTE.test(line)) at = writeQuote(lines, at, out, quoted);
    else if (line.includes("|") && isTableRule(lines[at + 1] ?? "")) at = writeTable(lines, at, out);
    else if (RULE.test(line)) {
      out.addText("———");
      at += 1;
    } else if (heading !== null) {
      out.wrapInTag("b", "", () => writeInline(parseInline(stripClosingMarks(heading[1] ?? "")), out));
      at += 1;
    } else if (bullet !== null) {
      const box = bullet[2] === undefined ? "" : bullet[2] === " " ? "☐ " : "☑ ";
      out.addText(`${bullet[1] ?? ""}• ${box}`);
      writeInline(parseInline(bullet[3] ?? ""), out);
      at += 1;
    } else at = writeParagraph(lines, at, out);
  }
}

interface Fence {
  readonly indent: string;
  readonly mark: string;
  readonly language: string;
}

function parseFence(line: string): Fence | undefined {
  const [, indent = "", mark, rest = ""] = /^(\s*)(`{3,}|~{3,})(.*)$/s.exec(line) ?? [];
  if (mark === undefined || rest.includes("`")) return undefined;
  return { indent, mark, language: /^[ \t]*(\S*)/.exec(rest)?.[1] ?? "" };
}

/** A closing fence has the same marks, and at least as many. */
function isClosingFence(line: string, mark: string): boolean {
  const marks = line.trim();
  return marks.length >= mark.length && countRepeats(marks, 0) === marks.length && marks[0] === mark[0];
}

/** Removes the optional marks at the end of a heading. */
function stripClosingMarks(heading: string): string {
  const text = trimBlanks(heading);
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  const isClosed = end < text.length && (text[end - 1] === " " || text[end - 1] === "\t");
  return isClosed ? trimBlanks(text.slice(0, end)) : text;
}

function trimBlanks(text: string): string {
  let end = text.length;
  while (text[end - 1] === " " || text[end - 1] === "\t") end -= 1;
  return text.slice(0, end);
}

/** The second line of a table: two or more columns of dashes. */
function isTableRule(line: string): boolean {
  if (!/^[\s|:-]+$/.test(line)) return false;
  const cells = line.split("|").map((cell) => cell.trim());
  if (cells[0] === "") cells.shift();
  if (cells.at(-1) === "") cells.pop();
  return cells.length >= 2 && cells.every((cell) => /^:?-+:?$/.test(cell));
}

/** An unclosed block is code up to the end: the answer may be incomplete. */
function writeFence(lines: readonly string[], at: number, fence: Fence, out: HtmlOutput): number {
  const { indent, mark, language } = fence;
  let end = at + 1;
  while (end < lines.length && !isClosingFence(lines[end] ?? "", mark)) end += 1;
  const code = lines
    .slice(at + 1, end)
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line.trimStart()))
    .join("\n");
  const name = /^[\w+#.-]{1,32}$/.test(language) ? language : "";
  const write = (): void => out.addText(code);
  out.wrapInTag("pre", "", () =>
    name === "" ? write() : out.wrapInTag("code", ` class="language-${name}"`, write),
  );
  return end + 1;
}

function writeQuote(lines: readonly string[], at: number, out: HtmlOutput, quoted: boolean): number {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end] ?? "")) end += 1;
  const inside = lines.slice(at, end).map((line) => line.replace(QUOTES, ""));
  if (quoted) writeBlocks(inside, out, true);
  else out.wrapInTag("blockquote", "", () => writeBlocks(inside, out, true));
  return end;
}

/** Telegram has no tables, so they are shown in a monospace font. */
function writeTable(lines: readonly string[], at: number, out: HtmlOutput): number {
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|")) end += 1;
  out.wrapInTag("pre", "", () => out.addText(lines.slice(at, end).join("\n")));
  return end;
}

function writeParagraph(lines: readonly string[], at: number, out: HtmlOutput): number {
  let end = at + 1;
  while (end < lines.length && !isBlockStart(lines, end)) end += 1;
  writeInline(parseInline(lines.slice(at, end).join("\n")), out);
  return end;
}

function isBlockStart(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? "";
  return (
    line.trim() === "" ||
    parseFence(line) !== undefined ||
    [HEADING, RULE, BULLET, QUOTE].some((pattern) => pattern.test(line)) ||
    (line.includes("|") && isTableRule(lines[at + 1] ?? ""))
  );
}

const TAGS = { bold: "b", italic: "i", strike: "s" } as const;

function writeInline(nodes: readonly InlineNode[], out: HtmlOutput): void {
  for (const node of nodes) {
    switch (node.type) {
      case "text":
        out.addText(node.text);
        break;
      case "code":
        out.wrapInTag("code", "", () => out.addText(node.text));
        break;
      case "link":
        writeLink(node.url, node.inside, out);
        break;
      default:
        out.wrapInTag(TAGS[node.type], "", () => writeInline(node.inside, out));
    }
  }
}

/** A link that a messenger cannot open, such as a relative path, is shown as text. */
function writeLink(url: string, inside: readonly InlineNode[], out: HtmlOutput): void {
  if (/^(?:https?:\/\/[^/\s]|tg:\/\/|mailto:|tel:)/i.test(url)) {
    out.wrapInTag("a", ` href="${escapeHtml(url).replaceAll('"', "&quot;")}"`, () =>
      writeInline(inside, out),
    );
    return;
  }
  writeInline(inside, out);
  const [first] = inside;
  if (first?.type !== "text" || first.text !== url) out.addText(` (${url})`);
}
