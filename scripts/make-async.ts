/**
 * Derives the asynchronous twin of the store's operations: every statement, and every call that leads to one, is awaited.
 *   node scripts/make-async.ts [--root .] [--from src/stores/sql] [--to src/stores/sql-async/generated]
 * Writes only if an input has changed since the last time. Reports on stderr: stdout of `npm pack --json` is JSON.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const project = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
  options: {
    root: { type: "string", default: project },
    from: { type: "string", default: "src/stores/sql" },
    to: { type: "string", default: "src/stores/sql-async/generated" },
  },
});
const root = resolve(values.root);
const from = resolve(root, values.from);
const to = resolve(root, values.to);
const stampFile = join(to, ".stamp.json");

/** What the last run read and wrote. */
interface Stamp {
  readonly hash: string;
  /** The files outside of the source that were read. */
  readonly imported: readonly string[];
  readonly outputs: readonly string[];
}

const files = globSync("**/*.ts", { cwd: from })
  .filter((file) => !file.endsWith(".test.ts"))
  .map((file) => join(from, file))
  .sort();
const stamp = readStamp();
if (stamp !== undefined && isCurrent(stamp)) {
  console.error(`async twin: up to date, ${stamp.outputs.length} files`);
} else {
  await makeTwin(stamp);
}

function readStamp(): Stamp | undefined {
  try {
    return JSON.parse(readFileSync(stampFile, "utf8")) as Stamp;
  } catch {
    return undefined; // the first run, or the last one failed
  }
}

function isCurrent({ hash, imported, outputs }: Stamp): boolean {
  return outputs.every((file) => existsSync(join(to, file))) && hash === hashInputs(imported);
}

function hashInputs(imported: readonly string[]): string {
  const hash = createHash("sha256");
  const generator = globSync("async-twin/*.ts", { cwd: import.meta.dirname }).sort();
  const own = [fileURLToPath(import.meta.url), ...generator.map((file) => join(import.meta.dirname, file))];
  const compiler = join(project, "node_modules/ts-morph/package.json");
  for (const file of [...own, compiler, ...files, ...imported.map((file) => resolve(root, file))]) {
    hash.update(`${relative(root, file)}\0`);
    if (existsSync(file)) hash.update(readFileSync(file));
    hash.update("\0");
  }
  return hash.digest("hex");
}

async function makeTwin(last: Stamp | undefined): Promise<void> {
  const start = performance.now();
  rmSync(stampFile, { force: true });
  const { buildTwin } = await import("./async-twin/build-twin.ts");
  const { outputs, imported, problems, counts } = buildTwin({ from, files, to, root });
  if (problems.length > 0) {
    const lines = problems.map(({ file, line, text }) => `${relative(root, file)}:${line} ${text}`);
    console.error([...new Set(lines)].sort().join("\n"));
    process.exitCode = 1;
    return;
  }
  const stale = last?.outputs ?? globSync("**/*.ts", { cwd: to });
  for (const file of stale) if (!outputs.has(file)) rmSync(join(to, file), { force: true });
  for (const [file, text] of outputs) writeIfChanged(join(to, file), text);
  const inputs = imported.map((file) => relative(root, file)).sort();
  const next: Stamp = { hash: hashInputs(inputs), imported: inputs, outputs: [...outputs.keys()].sort() };
  writeIfChanged(stampFile, JSON.stringify(next));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.error(
    `async twin: ${outputs.size} files, ${counts.functions} functions, ${counts.calls} awaited calls, ${counts.arrayCalls} array callbacks (${seconds} s)`,
  );
}

/** Another process may read the file at the same time: it sees the old text or the new one. */
function writeIfChanged(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  mkdirSync(dirname(file), { recursive: true });
  const temporary = `${file}.new-${process.pid}`;
  writeFileSync(temporary, text);
  renameSync(temporary, file);
}
