import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Findings } from "../kill/checker.ts";
import { type Line, type Operation, record, type Told } from "../kill/journal.ts";
import { type Child, startChild } from "../support/child.ts";
import { killedAfter, runProgram, startProgram } from "../support/program.ts";
import { type Random, seeded } from "../support/random.ts";
import { checkCopy } from "./checker.ts";

export interface BackupKillPlan {
  /** An empty folder. */
  readonly folder: string;
  readonly seed: number;
  readonly backups: number;
  readonly progress?: (text: string) => void;
}

export interface BackupKillReport extends Findings {
  /** Copies that were made, restored and checked. */
  readonly copies: number;
  readonly kills: number;
  /** Kills of a writer during an unacknowledged operation, or of a backup in progress. */
  readonly inFlight: number;
  /** Acknowledged operations. */
  readonly operations: number;
  readonly errors: string[];
  /** The last copy, so that a test can damage it. */
  readonly last?: Copy;
  readonly journal: readonly Operation[];
}

interface Copy {
  /** Restored from a backup. */
  readonly database: string;
  readonly before: number;
  readonly after: number;
}

const LOOPS = 64;
/** The maximum pause of a session after each operation, so that a home stays small enough for frequent copies. */
const PAUSE_MS = 60;
/** The number of copies of one home, before another home starts. */
const COPIES_PER_HOME = 10;

/**
 * Copies homes with `postrider backup` while 64 sessions write there and the writing process is killed repeatedly; some
 * copies and some restores are killed as well. Each copy is restored and compared with the acknowledged operations.
 */
export async function driveBackupKills(plan: BackupKillPlan): Promise<BackupKillReport> {
  const { folder, seed, backups, progress } = plan;
  const random = seeded(seed);
  const report = { copies: 0, kills: 0, inFlight: 0, operations: 0, errors: [] as string[] };
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  let last: Copy | undefined;
  let journal: readonly Operation[] = [];
  for (let number = 0; report.copies < backups && report.errors.length < 20; number += 1) {
    const place = join(folder, `home-${number}`);
    mkdirSync(place, { mode: 0o700 });
    const writers = new Writers(join(place, "postrider.db"), seed + number * 1000, random);
    const copies: Copy[] = [];
    try {
      await writers.working();
      while (copies.length < Math.min(COPIES_PER_HOME, backups - report.copies)) {
        const copy = await copyOnce(place, `${number}-${copies.length}`, writers, random, report);
        if (copy !== undefined) copies.push(copy);
        else if (report.errors.length > 20) break;
        progress?.(
          `${report.copies + copies.length} of ${backups} copies, ${report.kills + writers.kills} kills`,
        );
      }
    } finally {
      await writers.end();
    }
    report.copies += copies.length;
    report.kills += writers.kills;
    report.inFlight += writers.inFlight;
    report.errors.push(...writers.errors);
    journal = writers.journal;
    report.operations += journal.filter(({ result }) => result !== undefined).length;
    for (const copy of copies) {
      const found = checkCopy(copy.database, journal, copy);
      for (const kind of ["lost", "doubled", "broken"] as const)
        findings[kind].push(...found[kind].map((one) => `${copy.database}: ${one}`));
      last = copy;
    }
    const isGood = findings.lost.length + findings.doubled.length + findings.broken.length === 0;
    // Keeps wrong copies, and the last one.
    if (isGood && report.copies < backups) rmSync(place, { recursive: true });
  }
  return { ...report, ...findings, ...(last !== undefined && { last }), journal };
}

/** One copy, restored into a separate home. Undefined if it was killed before it was complete. */
async function copyOnce(
  place: string,
  name: string,
  writers: Writers,
  random: Random,
  report: { kills: number; inFlight: number; readonly errors: string[] },
): Promise<Copy | undefined> {
  const file = join(place, `${name}.copy`);
  const before = writers.heard();
  // Drawn in advance, so that later numbers do not depend on the progress of this copy.
  const [isKilled, isRestoreKilled] = [random.next() < 0.2, random.next() < 0.2];
  const [killAt, restoreKillAt] = [random.between(100, 700), random.between(100, 700)];
  const backup = startProgram(place, ["backup", file, "--json"]);
  backup.endInput();
  const made = isKilled ? await killedAfter(backup, killAt) : await backup.ended;
  if (made.signal === "SIGKILL") {
    report.kills += 1;
    if (readdirSync(place).some((one) => one.startsWith(`${name}.copy.new-`))) report.inFlight += 1;
    if (!existsSync(file)) return undefined;
  } else if (made.code !== 0 || made.err !== "") {
    report.errors.push(`copy ${name} ended with ${made.code}: ${made.err.trim()}`);
    return undefined;
  } else {
    const { sha256 } = JSON.parse(made.out) as { readonly sha256: string };
    const found = createHash("sha256").update(readFileSync(file)).digest("hex");
    if (found !== sha256) report.errors.push(`copy ${name} is not what was said of it: ${found}, ${sha256}`);
  }
  const home = join(place, `restored-${name}`);
  const database = join(home, "postrider.db");
  if (isRestoreKilled) {
    const restore = startProgram(home, ["restore", file]);
    restore.endInput();
    const { signal } = await killedAfter(restore, restoreKillAt);
    if (signal === "SIGKILL") report.kills += 1;
  }
  // After a kill there is a complete database or none.
  if (!existsSync(database)) {
    const { code, err } = await runProgram(home, "restore", file);
    if (code !== 0) {
      report.errors.push(`restoring ${name} ended with ${code}: ${err.trim()}`);
      return undefined;
    }
  }
  rmSync(file);
  return { database, before, after: writers.heard() };
}

/** One process after another works in the home; each is killed after a while. */
class Writers {
  kills = 0;
  inFlight = 0;
  readonly journal: Operation[] = [];
  readonly errors: string[] = [];
  readonly #file: string;
  readonly #seed: number;
  readonly #random: Random;
  readonly #done: Promise<void>;
  #child: Child | undefined;
  #earlier = 0;
  #isOver = false;
  #cutShort: () => void = () => {};

  constructor(file: string, seed: number, random: Random) {
    this.#file = file;
    this.#seed = seed;
    // A separate generator, because the times of the copies must not depend on the speed of the writers.
    this.#random = seeded(random.between(0, 1_000_000_000));
    this.#done = this.#run();
  }

  /** The number of lines of all processes so far. */
  heard(): number {
    return this.#earlier + (this.#child?.lines.length ?? 0);
  }

  async working(): Promise<void> {
    while (!this.#isOver && this.heard() < 500) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#cutShort();
    await this.#done;
  }

  async #run(): Promise<void> {
    for (let round = 0; !this.#isOver; round += 1) {
      const mode = round % 5 === 4 ? "in-process" : "workers";
      const args = [this.#file, mode, round, this.#seed + round, LOOPS, PAUSE_MS].map(String);
      const child = startChild(new URL("../kill/child.ts", import.meta.url), args);
      this.#child = child;
      child.tell({ do: "go" } satisfies Told);
      let answers = this.#random.between(50, 600);
      const enough = child.heard<Line>((line) => line.say === "done" && --answers <= 0);
      const over = new Promise<void>((resolve) => {
        this.#cutShort = resolve;
      });
      await Promise.race([enough.catch(() => {}), over]);
      child.process.kill("SIGKILL");
      const { code, signal } = await child.ended;
      this.#earlier += child.lines.length;
      this.#child = undefined;
      this.kills += 1;
      if (signal !== "SIGKILL") {
        this.errors.push(`a writer ended by itself with ${code}`);
        this.#isOver = true;
      }
      const heard = record(this.journal, child.lines as readonly Line[], this.#earlier - child.lines.length);
      if (heard.open > 0) this.inFlight += 1;
      this.errors.push(...heard.failed);
    }
  }
}
