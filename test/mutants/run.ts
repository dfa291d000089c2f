/** Applies the mutations of the list one by one; the tests that each names must fail. */
import { fileURLToPath } from "node:url";
import { type CopiedTree, copyTree } from "./copied-tree.ts";
import { findStale } from "./find-stale.ts";
import { MUTATIONS } from "./list.ts";
import type { Mutation } from "./mutation.ts";
import { HELP, type Options, optionsFrom } from "./options.ts";
import { endTests, runTests, type TestsEnd } from "./run-tests.ts";

interface Result {
  readonly mutation: Mutation;
  readonly state: "killed" | "survived" | "invalid";
  readonly how: string;
  readonly seconds: number;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const trees: CopiedTree[] = [];
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => {
    endTests();
    removeTrees();
    process.exit(130);
  });

process.exitCode = await main();

async function main(): Promise<number> {
  let options: Options;
  try {
    options = optionsFrom(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`mutants: ${(error as Error).message}\nSee npm run mutants -- --help.\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const stale = findStale(root, MUTATIONS);
  for (const problem of stale) console.error(`stale: ${problem}`);
  if (stale.length > 0) console.error(`${stale.length} entries of test/mutants/ no longer apply.`);
  if (options.check || stale.length > 0) {
    if (stale.length === 0) console.log(`${MUTATIONS.length} mutations apply`);
    return stale.length === 0 ? 0 : 1;
  }
  const chosen = MUTATIONS.filter((mutation) => isChosen(mutation, options));
  if (chosen.length === 0) {
    console.error("mutants: no mutation matches.");
    return 2;
  }
  if (options.list) {
    list(chosen, options);
    return 0;
  }
  try {
    return await tryAll(chosen, options);
  } finally {
    removeTrees();
  }
}

function isChosen({ file, find, replace, breaks }: Mutation, { only, files }: Options): boolean {
  const text = [file, find, replace, breaks].join("\n").toLowerCase();
  if (files.length > 0 && !files.includes(file)) return false;
  return only.length === 0 || only.some((wanted) => text.includes(wanted.toLowerCase()));
}

function list(chosen: readonly Mutation[], { json }: Options): void {
  if (json) console.log(JSON.stringify(chosen, undefined, 2));
  else for (const mutation of chosen) console.log(`${describe(mutation)}\n  breaks: ${mutation.breaks}`);
}

async function tryAll(chosen: readonly Mutation[], options: Options): Promise<number> {
  const start = performance.now();
  const say = (line: string): void => (options.json ? console.error(line) : console.log(line));
  for (let job = 0; job < Math.min(options.jobs, chosen.length); job += 1) trees.push(copyTree(root));
  const [first] = trees;
  const failing = first && options.baseline ? await failingUnmutated(first, chosen) : undefined;
  if (failing !== undefined) {
    say(`The tests fail without any mutation, so nothing can be said: ${failing}`);
    return 1;
  }
  if (options.baseline) say(`The tests pass without any mutation (${secondsSince(start)} s)`);
  const left = [...chosen];
  const results: Result[] = [];
  await Promise.all(
    trees.map(async (tree) => {
      for (let mutation = left.shift(); mutation !== undefined; mutation = left.shift()) {
        const result = await tryOne(tree, mutation, options);
        results.push(result);
        say(progressLine(result, results.length, chosen.length));
      }
    }),
  );
  const count = (wanted: Result["state"]): number => results.filter(({ state }) => state === wanted).length;
  if (options.json) console.log(JSON.stringify(results, undefined, 2));
  else for (const result of results) if (result.state !== "killed") console.log(describeBad(result));
  const invalid = count("invalid") === 0 ? "" : `, ${count("invalid")} invalid`;
  say(`${count("killed")} killed, ${count("survived")} survived${invalid} (${secondsSince(start)} s)`);
  return count("killed") === results.length ? 0 : 1;
}

/** Why the named tests fail in the unchanged tree. */
async function failingUnmutated(tree: CopiedTree, chosen: readonly Mutation[]): Promise<string | undefined> {
  const whole = new Set(
    chosen.filter(({ test }) => test === undefined).flatMap(({ noticedBy }) => noticedBy),
  );
  const partly = chosen.filter(
    ({ test, noticedBy }) => test !== undefined && noticedBy.some((f) => !whole.has(f)),
  );
  const groups = [
    { files: [...whole], titles: [] },
    {
      files: [...new Set(partly.flatMap((one) => one.noticedBy))],
      titles: partly.map(({ test = "" }) => test),
    },
  ];
  for (const group of groups) {
    if (group.files.length === 0) continue;
    const end = await runTests({ root: tree.path, ...group, seconds: 3600 });
    if (end.outcome !== "passed") return howItEnded(end);
  }
  return undefined;
}

async function tryOne(tree: CopiedTree, mutation: Mutation, { seconds }: Options): Promise<Result> {
  const start = performance.now();
  const { noticedBy: files, test } = mutation;
  const titles = test === undefined ? [] : [test];
  const end = await tree.mutated(mutation, () => runTests({ root: tree.path, files, titles, seconds }));
  const state = end.outcome === "passed" ? "survived" : end.outcome === "broken" ? "invalid" : "killed";
  return { mutation, state, how: howItEnded(end), seconds: secondsSince(start) };
}

function howItEnded(end: TestsEnd): string {
  if (end.outcome === "failed") return `${end.test}: ${end.message}`;
  if (end.outcome === "timed_out") return "the time limit was exceeded";
  return end.outcome === "broken" ? end.reason : "all tests passed";
}

function progressLine({ state, mutation, how, seconds }: Result, at: number, total: number): string {
  const sign = { killed: "killed  ", survived: "SURVIVED", invalid: "INVALID " }[state];
  return `${String(at).padStart(3)}/${total} ${sign} ${mutation.file}: ${mutation.breaks} [${how}] (${seconds} s)`;
}

function describe({ file, find, replace }: Mutation): string {
  return `${file}\n  - ${find.trim()}\n  + ${replace.trim()}`;
}

function describeBad({ state, mutation, how }: Result): string {
  const tests = `${mutation.noticedBy.join(", ")}${mutation.test === undefined ? "" : ` -t "${mutation.test}"`}`;
  return `\n${state}: ${describe(mutation)}\n  breaks: ${mutation.breaks}\n  tests: ${tests}\n  ${how}`;
}

function secondsSince(start: number): number {
  return Math.round((performance.now() - start) / 100) / 10;
}

function removeTrees(): void {
  for (const tree of trees.splice(0)) tree.remove();
}
