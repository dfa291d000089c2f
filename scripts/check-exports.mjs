// Every exported name is a promise: docs/api.md lists each, and lists nothing that is not there.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const index = readFileSync(`${root}src/index.ts`, "utf8");
const exported = [...index.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, names]) =>
  names
    .split(",")
    .map((name) => name.replace(/^\s*type\s/, "").trim())
    .filter((name) => name !== ""),
);
const page = readFileSync(`${root}docs/api.md`, "utf8");
const listed = page
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name));

const problems = [
  ...exported.filter((name) => !listed.includes(name)).map((name) => `docs/api.md does not list ${name}`),
  ...listed
    .filter((name) => !exported.includes(name))
    .map((name) => `docs/api.md lists ${name}, which is not exported`),
];
for (const problem of problems) console.error(problem);
console.log(`${exported.length} exported names, ${problems.length} problems`);
process.exit(problems.length === 0 && exported.length > 50 ? 0 : 1);
