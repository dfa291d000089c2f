import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { DEFAULT_TOOLS, TOOL_NAMES } from "../../src/core/tool-settings.ts";
import { type Judge, startJudge } from "../gateway/drive.ts";
import type { ChildLine, ChildOptions } from "../gateway/gateway-process.ts";
import { type Child, startChild } from "../support/child.ts";
import { look } from "../support/database.ts";
import { type Random, seeded } from "../support/random.ts";
import { EFFECTS, type Errand, errandsOf, ledgerOf, scriptOf } from "./errands.ts";
import { type Evidence, gather } from "./evidence.ts";
import { judge as judged, type Verdict } from "./judge.ts";
import { endAllIn, findLeftovers, keeperOf, kill } from "./leftovers.ts";
import { type Person, person } from "./person.ts";
import type { GivenLine } from "./print-input.ts";

export interface ToolKillPlan {
  /** Empty. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  /** How many of them also kill the keeper, before or after the gateway. */
  readonly keeperKills: number;
  /** The minimum number of errands of the first person. */
  readonly turns: number;
  readonly progress?: (text: string) => void;
}

export interface ToolKillReport extends Verdict {
  readonly kills: number;
  /** Kills during a turn. */
  readonly inFlight: number;
  readonly keeperKills: number;
  readonly errors: readonly string[];
  /** The targets of the kills, with their number. */
  readonly aims: Readonly<Record<string, number>>;
  /** For tests of the judge. */
  readonly evidence: Evidence;
}

const PEOPLE = ["ann", "bob"];
/** A process that has not reached its target by then is killed anyway. */
const LONGEST_LIFE_MS = 1500;
const START_MS = 30_000;
const LAST_MS = 45_000;

/**
 * Two people use an agent with real tools, each in their own chat, while the gateway is killed and restarted: at a named
 * point, after a number of traces, or after some milliseconds. Sometimes the keeper is killed, too. The seed determines the
 * requests and the targets of the kills; the exact instruction depends on the machine.
 */
export async function driveToolKills(plan: ToolKillPlan): Promise<ToolKillReport> {
  const { folder, seed, kills, turns } = plan;
  const [home, work] = [join(folder, "home"), join(folder, "work")];
  const database = join(home, "postrider.db");
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(work);
  for (const name of PEOPLE) writeFileSync(join(work, ledgerOf(name)), "END\n");
  const errands = PEOPLE.map((name, at) => errandsOf(name, turns + kills * 6, seed * 10 + at));
  const messenger = await startJudge({ idempotent: true });
  const errors: string[] = [];
  const over = new AbortController();
  const gateways = gatewaysOf({ folder, messenger, home, work, database, errands: errands.flat(), errors });
  const state = { kills: 0, inFlight: 0, aims: {} as Record<string, number>, keeperKills: [] as number[] };
  let isOver = false;
  const people = errands.map((own, at) =>
    person({
      judge: messenger,
      name: PEOPLE[at] ?? "",
      errands: own,
      random: seeded(seed * 100 + at),
      turns: at === 0 ? turns : 0,
      isOver: () => isOver,
      errors,
    }),
  );
  try {
    const hears = messenger.follow((event) => {
      for (const one of people) one.take(event);
    }, over.signal);
    const talks = Promise.all(people.map((one) => one.talk()));
    for (const one of [hears, talks]) one.catch(() => {}); // handled below
    await killAgainAndAgain(plan, gateways, state);
    isOver = true;
    const last = await gateways.start();
    await Promise.race([Promise.all([talks]), hears]);
    await waitUntilSettled(database, people, messenger, errors);
    over.abort();
    last.process.kill("SIGTERM");
    const end = await last.ended;
    if (end.code !== 0) errors.push(`the last gateway ended with ${end.code ?? end.signal}`);
    await endKeeper(home, database, errors);
    const given = gateways.given();
    const { keeperKills } = state;
    const evidence = await gather({
      database,
      work,
      errands: errands.flat(),
      witnessed: messenger.witnessed,
      given,
      keeperKills,
      left: findLeftovers(folder),
    });
    // For the analysis of a failed run.
    writeFileSync(join(folder, "evidence.json"), JSON.stringify(evidence));
    const verdict = judged(evidence);
    return { ...verdict, ...state, keeperKills: keeperKills.length, errors, evidence };
  } finally {
    over.abort();
    await gateways.end();
    await messenger.stop();
    await endAllIn(folder);
  }
}

interface State {
  kills: number;
  inFlight: number;
  readonly aims: Record<string, number>;
  readonly keeperKills: number[];
}

/** The points at which the gateway is killed. */
const POINTS = [
  "accept:after",
  "agent:before",
  "append:before",
  "append:after",
  "beginProcess:before",
  "beginProcess:after",
  "getProcess:after",
  "createApproval:before",
  "createApproval:after",
  "answerApproval:before",
  "answerApproval:after",
  "changeMemory:before",
  "changeMemory:after",
  "enqueue:after",
  "wake:before",
  "wake:after",
  "finish:before",
  "finish:after",
  "send:after",
  "settle:before",
];

type Aim =
  | { readonly at: "step"; readonly point: string }
  | { readonly at: "trace"; readonly count: number; readonly ms: number }
  | { readonly at: "time"; readonly ms: number };

function aimAt(random: Random): Aim {
  const chance = random.next();
  if (chance < 0.4) return { at: "step", point: `${random.pick(POINTS)}:${random.between(1, 6)}` };
  if (chance < 0.75) return { at: "trace", count: random.between(1, 12), ms: random.between(0, 60) };
  return { at: "time", ms: random.between(0, 1500) };
}

async function killAgainAndAgain(plan: ToolKillPlan, gateways: Gateways, state: State): Promise<void> {
  const random = seeded(plan.seed);
  const rounds = new Set<number>();
  // Not in the first round, which has no keeper yet.
  const most = Math.min(plan.keeperKills, plan.kills - 2);
  while (rounds.size < most) rounds.add(random.between(2, plan.kills - 1));
  while (state.kills < plan.kills) {
    const aim = aimAt(random);
    const withKeeper = rounds.has(state.kills) ? random.pick(["alone", "together"] as const) : undefined;
    const child = await gateways.start(aim.at === "step" ? aim.point : undefined);
    const alone =
      withKeeper === "alone"
        ? wait(random.between(0, 300)).then(() => gateways.killKeeper())
        : Promise.resolve(undefined);
    const ended = child.ended.then(() => {});
    if (aim.at === "time") await Promise.race([ended, wait(aim.ms)]);
    else if (aim.at === "step") await Promise.race([ended, wait(LONGEST_LIFE_MS)]);
    else await Promise.race([ended, gateways.traces(aim.count).then(() => wait(aim.ms))]);
    const killed = [await alone, withKeeper === "together" ? await gateways.killKeeper() : undefined];
    await gateways.kill(child);
    state.keeperKills.push(...killed.filter((at) => at !== undefined));
    state.kills += 1;
    if (gateways.runningTurns() > 0) state.inFlight += 1;
    const what = withKeeper === undefined ? aim.at : `${aim.at}, keeper ${withKeeper}`;
    state.aims[what] = (state.aims[what] ?? 0) + 1;
    plan.progress?.(`${state.kills} of ${plan.kills} kills`);
  }
}

interface Gateways {
  /** Resolves when it is connected, or has crashed. */
  start(killAt?: string): Promise<Child>;
  kill(child: Child): Promise<void>;
  /** The time of its kill; undefined without a keeper. */
  killKeeper(): Promise<number | undefined>;
  /** Resolves when there are this many more traces, or after a time limit. */
  traces(count: number): Promise<void>;
  /** Read from the database while no process writes. */
  runningTurns(): number;
  /** All histories that agents got. */
  given(): Evidence["given"];
  end(): Promise<void>;
}

function gatewaysOf(at: {
  readonly folder: string;
  readonly messenger: Judge;
  readonly home: string;
  readonly work: string;
  readonly database: string;
  readonly errands: readonly Errand[];
  readonly errors: string[];
}): Gateways {
  const { folder, messenger, home, work, database, errands, errors } = at;
  const { url, token, effects } = messenger;
  const children: Child[] = [];
  const script = scriptOf(errands);
  const options: ChildOptions = {
    file: database,
    home,
    judge: { url, token, effects },
    outbound: "idempotent",
    agent: { script },
    settings: { tools: { ...DEFAULT_TOOLS, member: TOOL_NAMES, folder: work } },
  };
  const file = join(work, EFFECTS);
  const count = (): number => (existsSync(file) ? readFileSync(file).length : 0);

  return {
    async start(killAt) {
      const given = { ...options, ...(killAt !== undefined && { killAt }) };
      const file = join(folder, "gateway.json");
      writeFileSync(file, JSON.stringify(given));
      const child = startChild(new URL("./child.ts", import.meta.url), [file]);
      children.push(child);
      const late = new AbortController();
      const ready = await Promise.race([
        child.heard<ChildLine>((line) => "ready" in line).catch(() => "crashed" as const),
        wait(START_MS, "late" as const, { signal: late.signal }).catch(() => "late" as const),
      ]);
      late.abort();
      if (ready === "late") errors.push(`a gateway was not ready within ${START_MS} ms`);
      return child;
    },
    async kill(child) {
      child.process.kill("SIGKILL");
      const { code, signal } = await child.ended;
      if (signal !== "SIGKILL") errors.push(`a gateway ended by itself with ${code}`);
      errors.push(...readErrors(child));
    },
    async killKeeper() {
      const pid = keeperOf(database);
      // A lease outlives its holder: only processes of this home are killed.
      if (pid === undefined || !findLeftovers(home).some((one) => one.pid === pid)) return undefined;
      return kill(pid) ? Date.now() : undefined;
    },
    async traces(more) {
      const wanted = count() + more * 8;
      for (const began = Date.now(); count() < wanted && Date.now() - began < LONGEST_LIFE_MS; )
        await wait(4);
    },
    runningTurns: () =>
      look(database, (db) =>
        Number(db.prepare("select count(*) from turns where state = 'running'").pluck().get()),
      ),
    given: () =>
      children.flatMap(({ lines }) =>
        (lines as readonly (ChildLine | GivenLine)[]).flatMap((line) =>
          "given" in line ? [line.given] : [],
        ),
      ),
    async end() {
      for (const child of children) child.process.kill("SIGKILL");
      await Promise.all(children.map(({ ended }) => ended));
    },
  };
}

/** Waits until every process has ended and all notices were sent. */
async function waitUntilSettled(
  database: string,
  people: readonly Person[],
  messenger: Judge,
  errors: string[],
): Promise<void> {
  const open = (): string[] =>
    look(database, (db) => {
      const programs = db
        .prepare("select id from processes where state <> 'ended' or (background = 1 and told_end = 0)")
        .pluck()
        .all();
      const turns = db.prepare("select 'turn ' || n from turns where state = 'running'").pluck().all();
      const out = db
        .prepare("select 'delivery ' || n from deliveries where state in ('waiting', 'sending')")
        .pluck()
        .all();
      return [...programs, ...turns, ...out] as string[];
    });
  for (const began = Date.now(); open().length > 0; await wait(50)) {
    if (Date.now() - began < LAST_MS) continue;
    errors.push(`not over within ${LAST_MS} ms: ${open().join(", ")}`);
    break;
  }
  // Reads all events up to here.
  for (const { place } of people) await messenger.shown(place.chat);
}

/** Otherwise it would stay for another minute. */
async function endKeeper(home: string, database: string, errors: string[]): Promise<void> {
  const pid = keeperOf(database);
  if (pid !== undefined && findLeftovers(home).some((one) => one.pid === pid)) kill(pid, "SIGTERM");
  for (const began = Date.now(); findLeftovers(home).length > 0; await wait(20))
    if (Date.now() - began > 10_000) {
      errors.push("the keeper did not end when it was told to");
      return;
    }
}

/** The logged errors of a gateway. */
function readErrors(child: Child): string[] {
  return (child.lines as readonly ChildLine[]).flatMap((line) => {
    if ("failed" in line) return [`${line.failed}: ${line.words}`];
    return "level" in line && line.level === "error" ? [`${line.words}: ${JSON.stringify(line.fields)}`] : [];
  });
}
