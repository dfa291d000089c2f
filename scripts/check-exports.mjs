// Every exported name is a promise: docs/api.md lists it under its entry point, and an example imports every value from there.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (file) => readFileSync(`${root}${file}`, "utf8");
const { exports } = JSON.parse(read("package.json"));

/** `postrider/tool` → the names that its file lists. */
const entries = Object.entries(exports).flatMap(([entry, target]) => {
  if (typeof target === "string") return [];
  const file = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts");
  return [{ name: `postrider${entry.slice(1)}`, file, ...listNames(read(file)) }];
});

function listNames(text) {
  const types = new Set();
  const values = new Set();
  for (const [, isType, names] of text.matchAll(/export (type )?\{([^}]*)\}/g))
    for (const name of names.split(",").map((one) => one.trim())) {
      if (name === "") continue;
      if (isType !== undefined || name.startsWith("type ")) types.add(name.replace(/^type /, ""));
      else values.add(name);
    }
  // What is left is code, which belongs into another file.
  const rest = text.replaceAll(/export (?:type )?\{[^}]*\} from "[^"]*";|\/\/.*/g, "").trim();
  return { types, values, rest };
}

/** The names that docs/api.md lists under the heading of an entry point. */
function listDocumented(page, entry) {
  const section = page.split(/^## /m).find((one) => one.startsWith(`\`${entry}\``)) ?? "";
  return section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name));
}

/** What the examples import, by entry point. */
const imported = new Map();
for (const name of readdirSync(`${root}examples`, { recursive: true }))
  if (name.endsWith(".ts"))
    for (const [, names, entry] of read(`examples/${name}`).matchAll(
      /import \{([^}]*)\} from "(postrider[^"]*)"/g,
    ))
      for (const one of names.split(",").map((part) => part.trim())) {
        const known = imported.get(entry) ?? imported.set(entry, new Set()).get(entry);
        if (!one.startsWith("type ")) known.add(one);
      }

const page = read("docs/api.md");
const problems = entries.flatMap(({ name, file, types, values, rest }) => {
  const exported = [...types, ...values];
  const documented = listDocumented(page, name);
  return [
    ...(rest === "" ? [] : [`${file} holds more than a list of names: ${rest.slice(0, 60)}`]),
    ...exported
      .filter((one) => !documented.includes(one))
      .map((one) => `docs/api.md does not list ${one} of ${name}`),
    ...documented
      .filter((one) => !exported.includes(one))
      .map((one) => `docs/api.md lists ${one}, which ${name} does not export`),
    ...[...values]
      .filter((one) => !imported.get(name)?.has(one))
      .map((one) => `no example imports ${one} from ${name}`),
  ];
});
for (const problem of problems) console.error(problem);
const count = entries.reduce((sum, { types, values }) => sum + types.size + values.size, 0);
console.log(`${entries.length} entry points, ${count} exported names, ${problems.length} problems`);
process.exit(problems.length === 0 && count > 100 ? 0 : 1);
