// One exported name has one meaning: no two files of src declare the same exported name.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const DECLARED =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|const|let|class|interface|type)\s+([A-Za-z_$][\w$]*)/gm;

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "src/*.ts"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && !file.endsWith(".test.ts"));

const declaredIn = new Map();
for (const file of files) {
  let text;
  try {
    text = readFileSync(`${root}${file}`, "utf8");
  } catch {
    continue; // deleted, but still in the index
  }
  const names = new Set([...text.matchAll(DECLARED)].map(([, name]) => name));
  for (const name of names) declaredIn.set(name, [...(declaredIn.get(name) ?? []), file]);
}

const repeated = [...declaredIn].filter(([, places]) => places.length > 1).sort();
for (const [name, places] of repeated) console.error(`${name} is exported by ${places.join(" and ")}`);
if (declaredIn.size < 500)
  console.error(`only ${declaredIn.size} exported names found in ${files.length} files`);
console.log(`${declaredIn.size} exported names, ${repeated.length} declared more than once`);
process.exit(repeated.length === 0 && declaredIn.size >= 500 ? 0 : 1);
