import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSessions, OWNER, sqliteStore } from "../../src/index.ts";
import { type Program, startProgram } from "../support/program.ts";
import { type Random, seeded } from "../support/random.ts";
import {
  answerText,
  checkLines,
  GIVEN_UP,
  type LineFindings,
  lineText,
  type Printed,
  storedLines,
  type TypedLine,
} from "./checker.ts";

export interface TerminalKillPlan {
  /** Made by this. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  readonly progress?: (text: string) => void;
}

export interface TerminalKillReport extends LineFindings {
  readonly kills: number;
  /** Kills while a stored line had no completely printed answer. */
  readonly inFlight: number;
  /** Stored lines. */
  readonly lines: number;
  readonly errors: string[];
  readonly database: string;
  readonly seen: ReadonlySet<string>;
  readonly printed: readonly Printed[];
}

const SEATS = ["a", "b"];
const SESSIONS = ["one", "other"];
const PATIENCE_MS = 30_000;
/** More than any process can use. */
const LINES_PER_LIFE = 30;

/**
 * Two people type into `postrider` in one home, each into a separate process that is killed and restarted.
 * After a kill, a person checks which lines were stored, and types the rest. The seed determines the lines, the
 * duration of answers and the times of kills; the exact instruction of a kill depends on the machine.
 */
export async function driveTerminalKills(plan: TerminalKillPlan): Promise<TerminalKillReport> {
  const { folder, seed, kills } = plan;
  const home = join(folder, "home");
  const database = join(home, "postrider.db");
  const report = { kills: 0, inFlight: 0, errors: [] as string[], printed: [] as Printed[] };
  const seen = new Set<string>();
  const lives = Math.ceil(kills / SEATS.length);
  const agent = writeScript(folder, seeded(seed), lives * LINES_PER_LIFE);
  await makeSessions(home, database);
  const running = new Set<Program>();

  async function sit(seat: string, random: Random): Promise<void> {
    for (let life = 0; life < lives; life += 1) {
      const before = existsSync(database) ? lastOf(seat, storedLines(database)) : 0;
      const args = random.next() < 0.2 ? ["-r", random.pick(SESSIONS)] : [];
      const pipe = startProgram(home, args, agent);
      running.add(pipe);
      const isWell = await live(pipe, { seat, number: before + 1 }, random);
      pipe.kill();
      const { code, signal, out, err } = await pipe.ended;
      running.delete(pipe);

      report.printed.push({ seat, from: before + 1, out });
      report.kills += 1;
      if (!isWell) report.errors.push(`${seat}, life ${life}: no answer in ${PATIENCE_MS} ms`);
      if (signal !== "SIGKILL") report.errors.push(`${seat}, life ${life}: ended by itself with ${code}`);
      report.errors.push(...complaints(err).map((line) => `${seat}, life ${life}: ${line}`));
      const stored = storedLines(database);
      for (const name of stored) seen.add(name);
      const own = Array.from({ length: lastOf(seat, stored) - before }, (_, at) => before + 1 + at);
      if (own.some((number) => !out.includes(`${answerText({ seat, number })}\n`))) report.inFlight += 1;
      plan.progress?.(`${report.kills} of ${lives * SEATS.length} kills, ${seen.size} lines`);
    }
  }

  try {
    await Promise.all(SEATS.map((seat, at) => sit(seat, seeded(seed * SEATS.length + at))));
    // The next start answers all pending lines, even without input.
    const last = startProgram(home, [], agent);
    running.add(last);
    last.endInput();
    const { code, out, err } = await last.ended;
    report.printed.push({ seat: "the last", from: 1, out });
    if (code !== 0 || complaints(err).length > 0)
      report.errors.push(`the last process ended with ${code}: ${err.trim()}`);
  } finally {
    for (const pipe of running) pipe.kill();
  }
  const lines = new Set(storedLines(database)).size;
  return { ...report, ...checkLines(database, seen, report.printed), lines, database, seen };
}

/** One process until its kill. False if it does not answer. */
async function live(pipe: Program, { seat, number }: TypedLine, random: Random): Promise<boolean> {
  const text = (at: number): string => lineText({ seat, number: number + at });
  const answers = random.between(1, 8);
  const isEarly = random.next() < 0.2;
  const moment = random.between(1, isEarly ? 350 : 12);
  // Some type everything at once, some wait for each answer.
  if (isEarly || random.next() < 0.6) {
    pipe.say(Array.from({ length: answers + random.between(1, 12) }, (_, at) => text(at)));
    if (!isEarly && !(await pipe.printed(answers, PATIENCE_MS))) return false;
  } else {
    for (let at = 0; at < answers; at += 1) {
      pipe.say([text(at)]);
      if (at < answers - 1 && !(await pipe.printed(at + 1, PATIENCE_MS))) return false;
    }
  }
  await new Promise((resolve) => setTimeout(resolve, moment));
  return true;
}

/** A unique answer for every line, in delayed chunks. */
function writeScript(folder: string, random: Random, lines: number): NodeJS.ProcessEnv {
  const wait = () => ({ wait_ms: random.next() < 0.1 ? 40 : random.between(0, 6) });
  const answers = SEATS.flatMap((seat) =>
    Array.from({ length: lines }, (_, index) => {
      const line = { seat, number: index + 1 };
      const [first = "", ...rest] = answerText(line).split(/(?<=, )/);
      return { to: `^${lineText(line)}$`, say: [wait(), first, wait(), rest.join(""), wait()] };
    }),
  );
  const file = join(folder, "script.json");
  writeFileSync(file, JSON.stringify({ answers }));
  return { POSTRIDER_AGENT: `script:${file}` };
}

async function makeSessions(home: string, database: string): Promise<void> {
  mkdirSync(home, { mode: 0o700 });
  const store = await sqliteStore({ file: database, mode: "in-process" });
  const sessions = createSessions({ store });
  for (const title of SESSIONS) await sessions.create({ person: OWNER }, { title });
  await store.close();
}

function lastOf(seat: string, names: readonly string[]): number {
  const own = names.filter((name) => name.startsWith(`${seat} `));
  return Math.max(0, ...own.map((name) => Number(name.split(" ")[1])));
}

const TAKEN_UP = "Answer to a message from an earlier run: answer to ";

/** Unexpected output on stderr. */
function complaints(err: string): string[] {
  return err.split("\n").filter((line) => line !== "" && !GIVEN_UP.test(line) && !line.startsWith(TAKEN_UP));
}
