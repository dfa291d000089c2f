import { type Child, startChild } from "../support/child.ts";
import { seeded } from "../support/random.ts";
import { check, checkIndex, type Findings } from "./checker.ts";
import { type Line, type Operation, record, type Told } from "./journal.ts";

export interface KillPlan {
  readonly file: string;
  readonly seed: number;
  readonly kills: number;
  readonly progress?: (text: string) => void;
}

export interface KillReport extends Findings {
  readonly kills: number;
  /** Kills during at least one unacknowledged operation. */
  readonly inFlight: number;
  /** Acknowledged operations. */
  readonly operations: number;
  /** Operations that failed without a kill. */
  readonly errors: string[];
  /** The value of `pragma synchronous` on a connection like the writer's; once per process. */
  readonly synchronous: number[];
  readonly journal: readonly Operation[];
}

const LOOPS = 8;
const CHECK_EVERY = 10;

/**
 * Kills a busy process repeatedly, on the same file, and compares the file with the acknowledged operations.
 * The seed determines the operations and the lifetimes; the exact instruction of a kill depends on the machine.
 */
export async function driveKills({ file, seed, kills, progress }: KillPlan): Promise<KillReport> {
  const random = seeded(seed);
  const journal: Operation[] = [];
  const report = { kills: 0, inFlight: 0, errors: [] as string[], synchronous: [] as number[] };
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  const children: Child[] = [];
  let lines = 0;
  const start = (round: number): Child => {
    // The last process is not killed; every fifth one uses a single thread.
    const mode = round % 5 === 4 ? "in-process" : "workers";
    const args = [file, mode, String(round), String(seed + round), String(LOOPS)];
    const child = startChild(new URL("./child.ts", import.meta.url), args);
    children.push(child);
    return child;
  };

  try {
    let next = start(0);
    for (let round = 0; round <= kills; round += 1) {
      const child = next;
      await child.heard<Line>((line) => line.say === "ready");
      // The next process starts while this one works.
      if (round < kills) next = start(round + 1);
      child.tell({ do: "go" } satisfies Told);
      // One in five is killed while it opens the database or recovers unfinished work; the others after
      // some work. A few more milliseconds put the kill anywhere between two answers.
      const early = round < kills && random.next() < 0.2;
      let answers = random.between(1, 150);
      if (!early) await child.heard<Line>((line) => line.say === "done" && --answers <= 0);
      const moment = random.between(1, early ? 300 : 10);
      await new Promise((resolve) => setTimeout(resolve, moment));
      if (round < kills) child.process.kill("SIGKILL");
      else child.tell({ do: "stop" } satisfies Told);
      const { code, signal } = await child.ended;

      const { open, failed, full, synchronous } = record(journal, child.lines as readonly Line[], lines);
      lines += child.lines.length;
      report.errors.push(...failed);
      report.synchronous.push(...synchronous);
      if (full > 0) report.errors.push(`round ${round}: ${full} operations found no room`);
      if (round < kills) {
        if (signal !== "SIGKILL") report.errors.push(`round ${round} ended by itself with ${code}`);
        report.kills += 1;
        if (open > 0) report.inFlight += 1;
      } else if (code !== 0 || open > 0) {
        report.errors.push(`the last process ended with ${code ?? signal} and ${open} operations open`);
      }
      progress?.(`${report.kills} of ${kills} kills, ${journal.length} operations`);
      const last = round === kills;
      if (last || round % CHECK_EVERY === CHECK_EVERY - 1) add(findings, check(file, journal, last));
    }
  } finally {
    for (const { process } of children) process.kill("SIGKILL");
  }
  try {
    checkIndex(file);
  } catch (error) {
    findings.broken.push(`the index: ${error}`);
  }
  const operations = journal.filter((one) => one.result !== undefined).length;
  return { ...report, ...findings, operations, journal };
}

/** The findings of several checks, without duplicates. */
export function add(to: Findings, more: Findings): void {
  for (const kind of ["lost", "doubled", "broken"] as const) {
    for (const one of more[kind]) if (!to[kind].includes(one)) to[kind].push(one);
  }
}
