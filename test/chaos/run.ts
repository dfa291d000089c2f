/** The kill schedule, the writing by several processes and the first contacts of the tests, at full length. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { driveFirstContacts } from "../first-contact/drive.ts";
import { driveKills } from "../kill/drive.ts";
import { driveProcesses } from "../processes/drive.ts";
import { temporaryFolder } from "../support/folder.ts";
import { percentile } from "../support/numbers.ts";

const HELP = `npm run chaos [-- options]

Kills a working process again and again, lets four processes write one file, and lets two processes meet the same
people for the first time at the same instant. Ends in a table; lost, doubled or failed operations exit with 1.

Options:
  --seed N       what is done and how long each process lives (default: taken from the clock, and printed)
  --kills N      how often the process is killed (default 500)
  --seconds N    how long four processes write (default 60)
  --contacts N   first contacts (default 10000)
  --help         this text
`;

interface Row {
  readonly part: string;
  readonly operations: number;
  readonly kills: number;
  readonly inFlight: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly errors: readonly string[];
}

process.exitCode = await main();

async function main(): Promise<number> {
  let options: ReturnType<typeof parse>;
  try {
    options = parse();
  } catch (error) {
    process.stderr.write(`chaos: ${(error as Error).message}\nSee npm run chaos -- --help.\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { seed, kills, seconds, contacts } = options;
  console.log(
    `seed ${seed} (again: npm run chaos -- --seed ${seed} --kills ${kills} --seconds ${seconds} --contacts ${contacts})`,
  );
  const rows = [
    await timed(`killing ${kills} times`, (folder) => killing(folder, seed, kills)),
    await timed(`four processes for ${seconds} s`, (folder) => writing(folder, seconds)),
    await timed(`${contacts} first contacts`, (folder) => meeting(folder, seed, contacts)),
  ];
  return table(rows) ? 0 : 1;
}

function parse() {
  const { values } = parseArgs({
    options: {
      seed: { type: "string" },
      kills: { type: "string", default: "500" },
      seconds: { type: "string", default: "60" },
      contacts: { type: "string", default: "10000" },
      help: { type: "boolean", default: false },
    },
  });
  const number = (name: string, text: string): number => {
    if (/^\d{1,9}$/.test(text)) return Number(text);
    throw new Error(`--${name} must be a whole number, not "${text}".`);
  };
  return {
    help: values.help,
    seed: number("seed", values.seed ?? String(Date.now() % 1_000_000_000)),
    kills: number("kills", values.kills),
    seconds: number("seconds", values.seconds),
    contacts: number("contacts", values.contacts),
  };
}

/** Runs one part in a folder of its own, which stays when something went wrong. */
async function timed(name: string, part: (folder: string) => Promise<Row>): Promise<Row> {
  const folder = temporaryFolder();
  const start = performance.now();
  console.log(`${name} …`);
  const row = await part(folder.path);
  console.log(`${name}: ${((performance.now() - start) / 1000).toFixed(0)} s`);
  if (isGood(row)) folder.remove();
  else console.log(`The files are in ${folder.path}.`);
  return row;
}

async function killing(folder: string, seed: number, kills: number): Promise<Row> {
  const report = await driveKills({ file: join(folder, "postrider.db"), seed, kills });
  const { operations, inFlight, lost, doubled } = report;
  const notFull = report.synchronous.filter((level) => level !== 2).map((level) => `synchronous is ${level}`);
  return {
    part: "kills",
    operations,
    kills: report.kills,
    inFlight,
    lost,
    doubled,
    errors: [...report.errors, ...report.broken, ...notFull],
  };
}

async function writing(folder: string, seconds: number): Promise<Row> {
  const report = await driveProcesses({ file: join(folder, "postrider.db"), processes: 4, seconds });
  const slowest = percentile(report.delays, 1);
  const [p50, p95] = [0.5, 0.95].map((share) => percentile(report.delays, share).toFixed(0));
  console.log(`  seen by another process after ${p50} ms (p95 ${p95}, max ${slowest.toFixed(0)})`);
  const late = slowest > 250 ? [`a write was seen elsewhere only after ${slowest.toFixed(0)} ms`] : [];
  const { operations, lost, doubled } = report;
  return {
    part: "four processes",
    operations,
    kills: 0,
    inFlight: 0,
    lost,
    doubled,
    errors: [...report.errors, ...late],
  };
}

async function meeting(folder: string, seed: number, contacts: number): Promise<Row> {
  const file = join(folder, "postrider.db");
  const report = await driveFirstContacts({ file, seed, contacts, everyMs: 4 });
  console.log(`  both at once: ${report.atOnce} of ${contacts}`);
  const { conversations, sessions, lost, doubled } = report;
  const counts =
    conversations === contacts && sessions === contacts
      ? []
      : [`${conversations} conversations and ${sessions} sessions for ${contacts} contacts`];
  return {
    part: "first contacts",
    operations: contacts * 2,
    kills: 0,
    inFlight: 0,
    lost,
    doubled,
    errors: [...report.errors, ...counts],
  };
}

function isGood({ lost, doubled, errors }: Row): boolean {
  return lost.length + doubled.length + errors.length === 0;
}

/** Prints what was done and what went wrong. True when nothing did. */
function table(rows: readonly Row[]): boolean {
  for (const { part, lost, doubled, errors } of rows) {
    for (const [what, list] of Object.entries({ lost, doubled, errors })) {
      for (const one of list.slice(0, 10)) console.log(`${part}, ${what}: ${one}`);
      if (list.length > 10) console.log(`${part}, ${what}: and ${list.length - 10} more`);
    }
  }
  const heads = ["", "operations", "kills", "in flight", "lost", "doubled", "errors"];
  const lines = rows.map((row) => [
    row.part,
    ...[row.operations, row.kills, row.inFlight, row.lost.length, row.doubled.length, row.errors.length].map(
      String,
    ),
  ]);
  const widths = heads.map((head, at) =>
    Math.max(head.length, ...lines.map((line) => line[at]?.length ?? 0)),
  );
  for (const line of [heads, ...lines]) {
    console.log(
      line
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
        .join("  "),
    );
  }
  return rows.every(isGood);
}
