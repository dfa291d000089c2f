// SQL has its place: the statements of the operations are in src/stores/sql/statements, in forms that every engine knows.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const OPERATIONS = "src/stores/sql/";
const STATEMENTS = `${OPERATIONS}statements/`;
/** An engine's own statements (schema, transactions, search index, upkeep), and the databases of other programs. */
const ELSEWHERE = ["src/stores/sqlite/", "src/stores/postgres/", "src/apps/import/"];

const STARTS_LIKE_SQL = /^\s*(?:select|insert|update|delete|with|create|alter)\s+\S/;
/** Stricter, for layers whose texts are for people. */
const IS_SQL = [
  /^\s*select\s[\s\S]*?\sfrom\s+[\w$]/,
  /^\s*insert\s+(?:or\s+\w+\s+)?into\s/,
  /^\s*update\s+\S+\s+set\s/,
  /^\s*delete\s+from\s/,
  /^\s*with\s+(?:recursive\s+)?\w+\s*(?:\([^)]*\)\s*)?as\s*\(/,
  /^\s*create\s+(?:\w+\s+){0,2}(?:table|index|view|trigger)\s/,
  /^\s*alter\s+table\s/,
];

/** Forms that only SQLite knows, or that mean something else elsewhere, and what to write instead. */
const SQLITE_ONLY = [
  [/\b(?:insert|update)\s+or\s+\w+|\breplace\s+into\b/, "on conflict"],
  [/\b(?:rowid|oid)\b|\bautoincrement\b/, "the key of the table"],
  [/\bjson(?:b)?_\w*|->/, "dialect.isJson, jsonText, isJsonTrue or jsonLength"],
  [/\binstr\s*\(/, "dialect.contains"],
  [/\b(?:max|min)\s*\(/, "dialect.greatest", hasTwoArguments],
  [/\bis\s+(?:not\s+)?\?/, "is [not] distinct from ?"],
  [/\?\s+is\s+(?:not\s+)?null\b/, "another statement: the type of such a parameter is unknown"],
  [/\blimit\s+-|\blimit\s+\S+\s*,/, "no limit, or limit … offset …"],
  [/\b(?:where|and|or|on|not)\s+[01]\b(?!\s*[-+*/<>=!])/, "true or false"],
  [/\bcross\s+join\b/, "dialect.joinInOrder"],
  [/\bsum\s*\([^()]*[<>=]/, "count(*) filter (where …)"],
  [/\bexists\s*\([\s\S]*?\)\s+as\s/, "case when exists (…) then 1 else 0 end", isSelectedExists],
  [/\bin\s*\([^()]*\)\s+as\s/, "case when … in (…) then 1 else 0 end"],
  [/\b(?:glob|regexp|match)\b/, "like, a range or dialect.contains"],
  [/\bcollate\b|\bindexed\s+by\b|\bnot\s+indexed\b/, "nothing"],
  [/\b(?:pragma|vacuum|attach\s+database)\b|\bsqlite_\w+|\bpragma_\w+/, "a member of the dialect"],
  [/\b(?:ifnull|iif)\s*\(/, "coalesce or case"],
  [/\bgroup_concat\s*\(/, "string_agg"],
  [/\b(?:strftime|julianday|unixepoch|datetime)\s*\(/, "milliseconds as a number"],
  [
    /\b(?:typeof|printf|unhex|hex|quote|zeroblob|randomblob|unicode|unlikely|likely)\s*\(/,
    "a value of the caller",
  ],
  [/\b(?:last_insert_rowid|changes|total_changes|total)\s*\(/, "the result of db.insert or db.run, or sum"],
  [/\bsubstr\s*\([^()]*,\s*-/, "dialect.endsWith"],
  [/==/, "="],
];

function hasTwoArguments(text, index) {
  let depth = 0;
  for (let at = text.indexOf("(", index); at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    if (text[at] === ")") depth -= 1;
    if (depth === 0) return false;
    if (text[at] === "," && depth === 1) return true;
  }
  return false;
}

/** Not after WHEN, AND or WHERE: then it is a value of the result. */
function isSelectedExists(text, index) {
  return /(?:\bselect|,)\s*(?:not\s+)?$/.test(text.slice(0, index));
}

const WORD_BEFORE_REGEX = /\b(?:return|typeof|case|in|of|else|do)\s+$/;

/** The string and template literals of a source file, with their lines. An interpolation is `$`, and is read on its own. */
function listLiterals(source) {
  const literals = [];
  let at = 0;
  let line = 1;
  const advance = (count = 1) => {
    for (let done = 0; done < count; done += 1, at += 1) if (source[at] === "\n") line += 1;
  };
  const readLiteral = (quote) => {
    const literal = { line, text: "" };
    literals.push(literal);
    const from = line;
    advance();
    while (at < source.length && source[at] !== quote) {
      if (source[at] === "\\") {
        literal.text += " ";
        advance(2);
      } else if (quote === "`" && source.startsWith("${", at)) {
        const begin = line;
        advance(2);
        readCode("}");
        literal.text += `$${"\n".repeat(line - begin)}`;
      } else {
        literal.text += source[at];
        advance();
      }
    }
    if (quote !== "`" && line > from) throw new Error(`the quote in line ${from} has no end`);
    advance();
  };
  const readCode = (end) => {
    let before = "";
    let depth = 0;
    while (at < source.length) {
      const char = source[at];
      if (char === end && depth === 0) return advance();
      if (source.startsWith("//", at)) advance(source.slice(at).search(/\n|$/));
      else if (source.startsWith("/*", at)) advance(source.indexOf("*/", at + 2) + 2 - at);
      else if (char === '"' || char === "'" || char === "`") {
        readLiteral(char);
        before = char;
      } else if (
        char === "/" &&
        (/^$|[(,=:[!&|?{};+>]/.test(before) || WORD_BEFORE_REGEX.test(source.slice(0, at)))
      ) {
        const regex = /^\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+\//.exec(source.slice(at));
        advance(regex?.[0].length ?? 1);
        before = "/";
      } else {
        if (char === "{") depth += 1;
        if (char === "}") depth -= 1;
        if (!/\s/.test(char)) before = char;
        advance();
      }
    }
  };
  readCode(undefined);
  return literals;
}

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "src/*.ts"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && !file.endsWith(".test.ts"));

const problems = [];
let statements = 0;
for (const file of files) {
  if (ELSEWHERE.some((folder) => file.startsWith(folder))) continue;
  let source;
  try {
    source = readFileSync(`${root}${file}`, "utf8");
  } catch {
    continue; // deleted, but still in the index
  }
  const isOperation = file.startsWith(OPERATIONS);
  let literals = [];
  try {
    literals = listLiterals(source);
  } catch (error) {
    problems.push(`${file}: cannot be read: ${error.message}`);
  }
  for (const { line, text } of literals) {
    // A sentence has one capital letter.
    const sql = /^\s*[A-Z]{4}/.test(text) ? text.toLowerCase() : text;
    const isSql = isOperation ? STARTS_LIKE_SQL.test(sql) : IS_SQL.some((form) => form.test(sql));
    if (isSql && file.startsWith(STATEMENTS)) statements += 1;
    else if (isSql) problems.push(`${file}:${line}: a statement outside ${STATEMENTS}`);
    if (!isOperation) continue;
    for (const [form, instead, applies = () => true] of SQLITE_ONLY) {
      for (const { 0: found, index } of text.matchAll(new RegExp(form, "gi"))) {
        if (!applies(text, index)) continue;
        const at = line + text.slice(0, index).split("\n").length - 1;
        problems.push(`${file}:${at}: "${found.trim()}" is not portable; write: ${instead}`);
      }
    }
  }
}

for (const problem of problems) console.error(problem);
if (statements < 200) console.error(`only ${statements} statements found in ${STATEMENTS}`);
console.log(`${statements} statements, ${problems.length} problems`);
process.exit(problems.length === 0 && statements >= 200 ? 0 : 1);
