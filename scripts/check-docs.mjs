// Checks the Markdown pages: every link has its file and its heading, every named file exists, README.md links to the
// index docs/README.md, and the index links to every page of docs.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const docs = readdirSync(`${root}docs`).filter((name) => name.endsWith(".md"));
const pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", ...docs.map((name) => `docs/${name}`)];
const FENCE = /^```[\s\S]*?^```/gm;
const NAMED = /`((?:bench|docs|examples|scripts|src|test)\/[\w./-]+)`/g;
const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g;
const problems = [];
let links = 0;

function textOf(page) {
  return readFileSync(join(root, page), "utf8").replace(FENCE, "");
}

/** As GitHub names them: a second heading of the same words gets a number. */
function anchorsOf(page) {
  const seen = new Map();
  return [...textOf(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => {
    const plain = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .trim()
      .toLowerCase();
    const slug = plain.replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, "").replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
}

const linked = new Map(pages.map((page) => [page, new Set()]));
for (const page of pages) {
  for (const [, file] of textOf(page).matchAll(NAMED))
    if (!existsSync(join(root, file))) problems.push(`${page}: no file ${file}`);
  for (const [, to] of textOf(page)
    .replace(/`[^`\n]*`/g, "")
    .matchAll(LINK)) {
    if (/^[a-z]+:/.test(to)) continue;
    links += 1;
    const [path, anchor] = to.split("#");
    const file = path === "" ? page : relative(root, resolve(root, dirname(page), path));
    linked.get(page).add(file);
    if (file.startsWith("..") || !existsSync(join(root, file))) problems.push(`${page}: no file for ${to}`);
    else if (anchor !== undefined && !anchorsOf(file).includes(anchor))
      problems.push(`${page}: no heading for ${to}`);
  }
}
const INDEX = "docs/README.md";
if (!linked.get("README.md").has(INDEX)) problems.push(`README.md does not link to ${INDEX}`);
for (const page of pages)
  if (page.startsWith("docs/") && page !== INDEX && !linked.get(INDEX).has(page))
    problems.push(`${INDEX} does not link to ${page}`);
for (const problem of problems) console.error(problem);
console.log(`${pages.length} pages, ${links} links, ${problems.length} problems`);
process.exit(problems.length === 0 && links > 50 ? 0 : 1);
