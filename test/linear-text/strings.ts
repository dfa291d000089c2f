/** Texts that make inefficient code slow, as a function of their length. */
export type Generator = (length: number) => string;

/** One unit, repeated. Long words, runs of one mark, and pairs that open and never close. */
const UNITS = [
  "[",
  "]",
  "(",
  ")",
  "*",
  "_",
  "~",
  "`",
  "<",
  ">",
  "\r",
  "\n",
  "\r\n",
  "\r\r\nx",
  "\b",
  "x\b",
  " ",
  "\t",
  " \n",
  "\u00a0",
  "a",
  "a ",
  "Aa",
  "#",
  "# a\n",
  "|",
  "-",
  "- ",
  "+",
  "=",
  '"',
  '"a" ',
  "'",
  "\\",
  "&",
  "%",
  "0",
  "1.",
  ".",
  ",",
  ";",
  ":",
  "/",
  "//",
  "/**/",
  "{",
  "}",
  "$",
  "$(",
  "!",
  "![",
  "http://",
  "https://a_",
  "@",
  "@a ",
  "\x1b",
  "\x1b[",
  "\x1b]",
  "\x1b]8;;",
  "\x1b[1;",
  "\u0301",
  "e\u0301",
  "\u200d",
  "\ufe0f",
  "👨‍👩‍👧‍👦",
  "🇩🇪",
  "👍🏽",
  "😀",
  "中",
  "한",
  "\u1112\u1161",
  "ก",
  "ש",
  "\u202e",
  "\ud800",
  "\udc00",
  "\0",
  "[](",
  "[a](b",
  "[a](b)",
  "**a",
  "**a ",
  "**a** ",
  "*a_",
  "_a*",
  "~~a",
  "`a",
  "``a`",
  "``` \n",
  "```\na\n",
  "~~~a\n",
  "| a | b |\n",
  "|-",
  "|---|\n",
  "a|b\n--|--\n",
  "> ",
  ">",
  "> a\n",
  "- [ ] a\n",
  "<a>",
  "<!--",
  "{a: ",
  "[a, ",
  "a: b\n",
  "&a ",
  "*a ",
  "- - ",
  ">>>a<<<",
  "+++ b/a\n",
  "title: ",
  "a OR -b ",
  "-a",
  "word* ",
] as const;

/** Texts that are not a repeated unit: depth, growth, and an end that does not match. */
const SHAPED: readonly (readonly [string, Generator])[] = [
  ["nested lists", (length) => shaped(length, (depth) => `${" ".repeat(depth % 200)}- a\n`)],
  ["nested quotes", (length) => shaped(length, (depth) => `${"> ".repeat(depth % 200)}a\n`)],
  ["fences of growing length", (length) => shaped(length, (depth) => `${"`".repeat(depth)} a `)],
  ["stars of growing length", (length) => shaped(length, (depth) => `${"*".repeat(depth)}a `)],
  ["brackets that close", (length) => "[".repeat(length / 2) + "]".repeat(length / 2)],
  ["parentheses that close", (length) => `[a](${"(".repeat(length / 2)}${")".repeat(length / 2)}`],
  ["spaces before an end", (length) => `${" ".repeat(length)}x`],
  ["line breaks before an end", (length) => `${"\n".repeat(length)}x`],
  ["dashes before an end", (length) => `${"-".repeat(length)}x`],
  ["digits before an end", (length) => `${"1".repeat(length)}x`],
  ["a heading with spaces", (length) => `# ${"a ".repeat(length / 2)}`],
  ["a heading with marks", (length) => `# ${"a #".repeat(length / 3)}x`],
  ["a command with spaces", (length) => `/new${" ".repeat(length)}x`],
  ["a command to a long name", (length) => `/new@${"a".repeat(length)} !`],
  ["a closed code span with spaces", (length) => `\` ${" ".repeat(length)} \``],
  ["a diff", (length) => `*** Update File: ${"a".repeat(length)}`],
  ["a data address", (length) => `data:${";".repeat(length)}`],
  ["lines of different lengths", (length) => shaped(length, (depth) => `${"x".repeat(depth % 300)}\n`)],
];

export const STRINGS: readonly (readonly [name: string, make: Generator])[] = [
  ...UNITS.map((unit) => [JSON.stringify(unit), (length: number) => repeated(unit, length)] as const),
  ...SHAPED.map(([name, make]) => [name, (length: number) => flat(make(length))] as const),
];

function repeated(unit: string, length: number): string {
  return flat(unit.repeat(Math.ceil(length / unit.length)));
}

function shaped(length: number, piece: (index: number) => string): string {
  const pieces: string[] = [];
  let made = 0;
  for (let index = 1; made < length; index += 1) {
    const next = piece(index);
    pieces.push(next);
    made += next.length;
  }
  return pieces.join("");
}

/** Copies the text into one block of memory: otherwise the first reader would pay for joining its parts. */
function flat(text: string): string {
  const encoding = /^[\0-\xff]*$/.test(text) ? "latin1" : "utf16le";
  return Buffer.from(text, encoding).toString(encoding);
}
