import { existsSync } from "node:fs";
import { join } from "node:path";
import { bytesIn, stateOf } from "../import/imported.ts";
import { makeHome } from "../import/make-home.ts";
import type { Findings } from "../kill/checker.ts";
import { look } from "../support/database.ts";
import { type ProgramEnd, startProgram } from "../support/program.ts";
import { type Random, seeded } from "../support/random.ts";
import { checkSame } from "./checker.ts";

export interface ImportKillPlan {
  /** An empty folder. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  /** The number of sessions to import. */
  readonly sessions: number;
  readonly progress?: (text: string) => void;
}

export interface ImportKillReport extends Findings {
  readonly kills: number;
  /** Kills after which only a part of the sessions was stored. */
  readonly inFlight: number;
  /** The number of sessions to import into all homes together. */
  readonly operations: number;
  readonly errors: string[];
  /** The results of an undisturbed import and of the last killed one. */
  readonly whole: string;
  readonly last?: string;
}

const MOST_KILLS_PER_HOME = 10;

/**
 * Imports the same sessions into one home after another; the import is killed repeatedly and restarted. In the end each
 * home must have the same content as after an undisturbed import.
 */
export async function driveImportKills(plan: ImportKillPlan): Promise<ImportKillReport> {
  const { folder, seed, sessions, progress } = plan;
  const random = seeded(seed);
  const from = join(folder, "from");
  makeHome(from, { seed, sessions });
  const args = ["import", "hermes", from, "--zone", "UTC"];
  const bytes = bytesIn(from);
  const report = { kills: 0, inFlight: 0, operations: 0, errors: [] as string[] };
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  const finish = async (home: string): Promise<void> => {
    const program = startProgram(home, args);
    program.endInput();
    const { code, err } = await program.ended;
    if (code !== 0) report.errors.push(`an import into ${home} ended with ${code}: ${err.trim()}`);
  };
  const whole = join(folder, "whole", "postrider.db");
  await finish(join(folder, "whole"));

  let last: string | undefined;
  for (let number = 0; report.kills < plan.kills && report.errors.length === 0; number += 1) {
    const home = join(folder, `home-${number}`);
    const database = join(home, "postrider.db");
    const most = Math.min(random.between(3, MOST_KILLS_PER_HOME), plan.kills - report.kills);
    for (let kills = 0; kills < most; kills += 1) {
      const { code, signal } = await killedOnTheWay(home, database, args, sessions, random);
      if (signal !== "SIGKILL") {
        if (code !== 0) report.errors.push(`an import into ${home} ended by itself with ${code}`);
        break;
      }
      report.kills += 1;
      const there = sessionsIn(database);
      if (there > 0 && there < sessions) report.inFlight += 1;
      progress?.(`${report.kills} of ${plan.kills} kills`);
    }
    // The second run has nothing to do.
    for (const _time of ["first", "second"]) {
      await finish(home);
      if (!existsSync(database)) break;
      const found = checkSame(stateOf(whole), stateOf(database));
      for (const kind of ["lost", "doubled", "broken"] as const)
        findings[kind].push(...found[kind].map((one) => `${home}: ${one}`));
    }
    report.operations += sessions;
    last = database;
  }
  if (JSON.stringify(bytesIn(from)) !== JSON.stringify(bytes)) {
    findings.broken.push("what was imported from has changed");
  }
  return { ...report, ...findings, whole, ...(last !== undefined && { last }) };
}

/** Most are killed after some more sessions, some after a time. */
async function killedOnTheWay(
  home: string,
  database: string,
  args: readonly string[],
  sessions: number,
  random: Random,
): Promise<ProgramEnd> {
  const start = sessionsIn(database);
  const isTimed = random.next() < 0.3;
  const further = random.between(1, Math.max(1, Math.floor(sessions / 4)));
  const moment = random.between(1, isTimed ? 600 : 5);
  const program = startProgram(home, args);
  program.endInput();
  let isOver = false;
  const ended = program.ended.finally(() => {
    isOver = true;
  });
  // Another process does not report its progress, so this polls.
  while (!isTimed && !isOver && sessionsIn(database) < start + further)
    await new Promise((resolve) => setTimeout(resolve, 1));
  await new Promise((resolve) => setTimeout(resolve, moment));
  program.kill();
  return ended;
}

function sessionsIn(database: string): number {
  if (!existsSync(database)) return 0;
  return look(database, (db) => Number(db.prepare("select count(*) from sessions").pluck().get()));
}
