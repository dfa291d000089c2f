/** The schedules of the tests, at full length. */
import { temporaryFolder } from "../support/folder.ts";
import { again, HELP, type Options, optionsFrom } from "./options.ts";
import type { Part } from "./parts.ts";
import { progressLine } from "./progress.ts";
import { findingsOf, isGood, type Row, tableOf } from "./table.ts";

process.exitCode = await main();

async function main(): Promise<number> {
  let options: Options;
  try {
    options = optionsFrom(process.argv.slice(2), Date.now());
  } catch (error) {
    process.stderr.write(`chaos: ${(error as Error).message}\nSee npm run chaos -- --help.\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  console.log(`seed ${options.seed} (again: ${again(options)})`);
  const start = performance.now();
  const rows: Row[] = [];
  for (const { part, length } of options.parts) rows.push(await run(part, options.seed, length));
  for (const line of tableOf(rows)) console.log(line);
  const isAllGood = rows.every(isGood);
  console.log(`${isAllGood ? "Nothing was lost, doubled or failed" : "It failed"}; ${since(start)}.`);
  return isAllGood ? 0 : 1;
}

/** Runs one part in its own folder, which is kept after a failure. */
async function run(part: Part, seed: number, length: number): Promise<Row> {
  const folder = temporaryFolder();
  const start = performance.now();
  const progress = progressLine(process.stdout, part.name);
  let row: Row;
  try {
    row = {
      part: part.name,
      ...(await part.run({ folder: folder.path, seed, length, progress: progress.at })),
    };
  } catch (error) {
    const errors = [`it ended early: ${error instanceof Error ? error.stack : error}`];
    row = { part: part.name, operations: 0, kills: 0, inFlight: 0, lost: [], doubled: [], errors, notes: [] };
  } finally {
    progress.end();
  }
  console.log(
    `${part.name} (--${part.option} ${length}): ${isGood(row) ? "good" : "FAILED"}, ${since(start)}`,
  );
  for (const line of [...row.notes, ...findingsOf(row)]) console.log(`  ${line}`);
  if (isGood(row)) folder.remove();
  else console.log(`  the files are in ${folder.path}`);
  return row;
}

function since(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(0)} s`;
}
