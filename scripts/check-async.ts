/**
 * Checks the asynchronous twin of the store's operations by types: no promise is used like a value.
 *   node scripts/check-async.ts [--root .] [--folder src/stores/sql-async]
 */
import { globSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findMisusedPromises } from "./async-twin/find-misused-promises.ts";
import { createProgram } from "./async-twin/program.ts";

const { values } = parseArgs({
  options: {
    root: { type: "string", default: fileURLToPath(new URL("..", import.meta.url)) },
    folder: { type: "string", default: "src/stores/sql-async" },
  },
});
const root = resolve(values.root);
const folder = resolve(root, values.folder);
const files = globSync("**/*.ts", { cwd: folder })
  .filter((file) => !file.endsWith(".test.ts"))
  .map((file) => join(folder, file))
  .sort();
if (!files.some((file) => file.includes("/generated/"))) {
  console.error(`${values.folder} has no generated files: run node scripts/make-async.ts`);
  process.exit(1);
}
const program = createProgram(files);
const problems = findMisusedPromises(
  program,
  files.flatMap((file) => program.getSourceFile(file) ?? []),
);
for (const { file, line, text } of problems) console.error(`${relative(root, file)}:${line} ${text}`);
console.log(`${files.length} files of the async twin, ${problems.length} misused promises`);
process.exit(problems.length === 0 ? 0 : 1);
