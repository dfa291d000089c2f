// docs/coverage.md names a symbol, a file and a test in each row. This fails if one of them does not exist.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const lines = readFileSync(`${root}docs/coverage.md`, "utf8").split("\n");
const texts = new Map();
const problems = [];
let rows = 0;
let tests = 0;
let symbolCount = 0;

function textOf(file) {
  if (!texts.has(file))
    texts.set(file, existsSync(`${root}${file}`) ? readFileSync(`${root}${file}`, "utf8") : undefined);
  return texts.get(file);
}

/** What a test is called in the source: behind `it(` or `rule(`, or behind the table of an `each`. */
const TITLE = /(?:\b(?:it|test|rule)\(|\)\()\s*(["'`])((?:(?!\1)[^\\\n]|\\.)*)\1/g;
const FILLED_IN = /\$\{[^}]*\}|\$[a-zA-Z.]+|%[sdijfo#]/;

/** A name made of a table's row is found by the pattern it was made from: `is $name` covers `is telegram dm`. */
function holds(text, test) {
  const titles = [...text.matchAll(TITLE)].map((match) => match[2].replace(/\\(["'`\\])/g, "$1"));
  return titles.some((title) => {
    if (title === test) return true;
    const parts = title.split(FILLED_IN);
    if (parts.length === 1) return false;
    const pattern = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("(.+)");
    const [, ...filled] = new RegExp(`^${pattern}$`, "s").exec(test) ?? [];
    // A title of hardly more than what is filled in fits everything: then the table must have it, too.
    const says = parts.join("").trim().length >= 4;
    return filled.length > 0 && (says || filled.every((value) => text.includes(value)));
  });
}

const IMPORTS = /^(?:import|export)\b(?:[^;"]*?\bfrom)?\s*"[^"]*";$/gm;
const COMMENTS = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** A name counts where code uses or defines it, not in an import or a comment. Anything else is looked for as it is written. */
function names(text, symbol) {
  if (!/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/.test(symbol)) return text.includes(symbol);
  const code = text.replace(IMPORTS, "").replace(COMMENTS, "");
  const name = symbol.split(".").at(-1).replaceAll("$", "\\$");
  return new RegExp(`(?<![\\w$])${name}(?![\\w$])`).test(code);
}

for (const [index, line] of lines.entries()) {
  if (!line.startsWith("|") || /^\|[\s:-]+\|/.test(line)) continue;
  const cells = line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
  if (cells[0] === "what") continue;
  rows += 1;
  const at = `docs/coverage.md:${index + 1}`;
  if (cells.length !== 4) problems.push(`${at}: ${cells.length} columns instead of 4`);
  const changed = (cells[3] ?? "").startsWith("changed:");
  const files = [...(cells[2] ?? "").matchAll(/`([^`]+\.(?:ts|mjs|md))`/g)].map((match) => match[1]);
  if (files.length === 0 && !changed) problems.push(`${at}: names no file`);
  for (const file of files) if (textOf(file) === undefined) problems.push(`${at}: no file ${file}`);
  const symbols = [...(cells[1] ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1]);
  if (symbols.length === 0 && cells[1] !== "none") problems.push(`${at}: names no symbol`);
  for (const symbol of symbols) {
    symbolCount += 1;
    if (files.length > 0 && !files.some((file) => names(textOf(file) ?? "", symbol)))
      problems.push(`${at}: ${symbol} is not in ${files.join(" or ")}`);
  }
  const named = [
    ...(cells[3] ?? "").matchAll(
      /`([^`]+\.test\.ts|src\/testing\/[^`]+\.ts)`\s*:?\s*((?:"(?:[^"\\]|\\.)*"(?:,\s*)?)*)/g,
    ),
  ];
  if (named.length === 0 && !changed) problems.push(`${at}: neither a test nor "changed: why"`);
  for (const [, file, list] of named) {
    const text = textOf(file);
    if (text === undefined) {
      problems.push(`${at}: no file ${file}`);
      continue;
    }
    const names = [...list.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) =>
      match[1].replaceAll('\\"', '"').replaceAll("\\|", "|"),
    );
    if (names.length === 0) problems.push(`${at}: names no test of ${file}`);
    for (const name of names) {
      tests += 1;
      if (!holds(text, name)) problems.push(`${at}: ${file} has no test "${name}"`);
    }
  }
}
if (rows < 50) problems.push(`docs/coverage.md has only ${rows} rows`);
for (const problem of problems) console.error(problem);
console.log(`${rows} rows, ${symbolCount} symbols and ${tests} tests named, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
