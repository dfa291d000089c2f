import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Child } from "../support/child.ts";
import { look } from "../support/database.ts";
import { type Random, seeded } from "../support/random.ts";
import { type Judge, startGatewayChild, startJudge } from "./drive.ts";
import type { ChildLine, ChildOptions } from "./gateway-process.ts";
import type { Chances, MessengerOptions, Witnessed } from "./protocol.ts";
import { hearing, lastAnswers, people, type Speaker, talk } from "./talk.ts";
import { type Verdict, verdictOn } from "./verdict.ts";

export interface LoadPlan {
  /** An empty folder. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  readonly people: number;
  readonly outbound: NonNullable<ChildOptions["outbound"]>;
  readonly progress?: (text: string) => void;
  /** The differences from the usual load. */
  readonly variant?: LoadVariant;
}

export interface LoadVariant {
  /** Additional or different behaviour of the messenger. */
  readonly messenger?: Partial<MessengerOptions>;
  /** The options of every gateway. */
  readonly child?: (random: Random) => Partial<ChildOptions>;
  /** The lifetime of a gateway without a kill point, or one that did not reach its point. */
  readonly lifeMs?: number;
  /** An addition to a text. */
  readonly words?: (random: Random, speaker: Speaker, number: number) => string;
  /** Runs during the life of each gateway; returns a function that stops it. */
  readonly during?: (child: Child, random: Random) => () => void;
  /** Gets every event, until the last answers. */
  readonly witness?: (judge: Judge, event: Witnessed) => void;
}

export interface LoadReport extends Verdict {
  readonly kills: number;
  /** Kills during a turn. */
  readonly hitTurns: number;
  /** Kills during deliveries, */
  readonly hitSends: number;
  /** and the number of these deliveries. */
  readonly leftSends: number;
  /** Connections that the messenger cut after it had accepted a message. */
  readonly cuts: number;
  /** The events of the messenger. */
  readonly witnessed: readonly Witnessed[];
  /** Processes that ended by themselves, and waits that timed out. */
  readonly errors: readonly string[];
}

/** The points at which a process is killed; other processes are killed from outside, at any instruction. */
const POINTS = [
  "accept:before",
  "accept:after",
  "agent:before",
  "agent:during",
  "agent:after",
  "tool:before",
  "tool:acted",
  "finish:before",
  "finish:after",
  "beginDelivery:after",
  "send:before",
  "send:after",
  "settle:before",
  "settle:after",
  "claim:after",
  "append:after",
];

/** A process that has not reached its point by then is killed anyway. */
const LONGEST_LIFE_MS = 900;
/** A process that hangs at its start; on a busy machine a start takes up to a quarter of this. */
const START_MS = 60_000;

/**
 * Many people write to a gateway that is killed and restarted, over an unreliable messenger. The seed determines the
 * texts, the kill points and the faults; their interleaving depends on the machine.
 */
export async function driveLoad(plan: LoadPlan): Promise<LoadReport> {
  const { folder, seed, kills, outbound } = plan;
  const random = seeded(seed);
  const file = join(folder, "postrider.db");
  const { variant = {} } = plan;
  const judge = await startJudge({
    idempotent: outbound === "idempotent",
    chances: chances(seed),
    ...variant.messenger,
  });
  const { url, token, effects } = judge;
  const options: ChildOptions = { file, judge: { url, token, effects }, outbound, busy: "queue" };
  const report = { kills: 0, hitTurns: 0, hitSends: 0, leftSends: 0, errors: [] as string[] };
  const start = (more: Partial<ChildOptions> = {}): { child: Child; stop: () => void } => {
    const started = startGatewayChild({ ...options, ...variant.child?.(random), ...more });
    return { child: started, stop: variant.during?.(started, random) ?? (() => {}) };
  };
  const over = new AbortController();
  const done = new AbortController();
  let child: Child | undefined;
  try {
    const heard = hearing(over.signal);
    const take = (event: Witnessed): void => {
      heard.take(event);
      variant.witness?.(judge, event);
    };
    const following = judge.follow(take, done.signal);
    const talks = people(plan.people).map((person, at) =>
      talk({ judge, heard, words: variant.words }, person, seeded(seed * 1000 + at), over.signal),
    );
    const talked = Promise.all(talks);
    following.catch(() => over.abort());
    talked.catch(() => over.abort());
    while (report.kills < kills && !over.signal.aborted) {
      const killAt = random.next() < 0.6 ? `${random.pick(POINTS)}:${random.between(1, 12)}` : undefined;
      const started = start({ ...(killAt !== undefined && { killAt }) });
      child = started.child;
      const { lifeMs = LONGEST_LIFE_MS } = variant;
      const ms = killAt === undefined ? random.between(0, Math.floor(lifeMs * 0.45)) : lifeMs;
      const crashed = await waitForCrash(child, ms).finally(started.stop);
      report.errors.push(...crashed.errors);
      report.kills += 1;
      const { turns, sends } = countUnfinished(file);
      if (turns > 0) report.hitTurns += 1;
      if (sends > 0) report.hitSends += 1;
      report.leftSends += sends;
      plan.progress?.(`${report.kills} of ${kills} kills`);
    }
    over.abort();
    await judge.chances();
    const texts = await talked;
    const last = start();
    child = last.child;
    await lastAnswers(judge, texts, report.errors).finally(last.stop);
    done.abort();
    await following;
    report.errors.push(...readErrors(child));
  } finally {
    over.abort();
    done.abort();
    child?.process.kill("SIGKILL");
    await child?.ended;
    await judge.stop();
  }
  const cuts = judge.witnessed.filter((event) => event.kind === "fault" && event.fault === "cut").length;
  return { ...report, ...verdictOn(judge.witnessed), cuts, witnessed: judge.witnessed };
}

/** Waits until the process has reached its point or its time limit, and for its exit. */
async function waitForCrash(child: Child, lifeMs: number): Promise<{ readonly errors: readonly string[] }> {
  const ready = child
    .heard<{ ready?: true }>((line) => line.ready === true)
    .then(
      () => true,
      () => false,
    );
  const isLate = new AbortController();
  const late = wait(START_MS, "late" as const, { signal: isLate.signal }).catch(() => "late" as const);
  const began = await Promise.race([ready, late]);
  isLate.abort();
  const life = new AbortController();
  await Promise.race([child.ended, wait(lifeMs, undefined, { signal: life.signal }).catch(() => {})]);
  life.abort();
  child.process.kill("SIGKILL");
  const { code, signal } = await child.ended;
  const errors = readErrors(child);
  if (began === "late") errors.push(`a process was not ready within ${START_MS} ms`);
  if (signal !== "SIGKILL") errors.push(`a process ended by itself with ${code}`);
  return { errors };
}

/** Its logged errors, except for faults of the messenger. */
function readErrors(child: Child): string[] {
  const lines = child.lines as readonly ChildLine[];
  return lines.flatMap((line) =>
    "level" in line && line.level === "error" && line.words !== "the connection failed"
      ? [`${line.words}: ${JSON.stringify(line.fields)}`]
      : [],
  );
}

/** The unfinished work of a killed process. Counts only: the judge decides. */
function countUnfinished(file: string): { readonly turns: number; readonly sends: number } {
  try {
    return look(file, (db) => {
      const count = (sql: string): number => Number(db.prepare(sql).pluck().get());
      return {
        turns: count("select count(*) from turns where state = 'running'"),
        sends: count("select count(*) from deliveries where state = 'sending'"),
      };
    });
  } catch {
    return { turns: 0, sends: 0 }; // killed before the file existed
  }
}

/** Rare enough that people get answers, frequent enough that each fault occurs. */
export function chances(seed: number): Chances {
  return {
    seed,
    send: { delay: 0.1, fail: 0.02, wait: 0.03, drop: 0.01, cut: 0.02 },
    updates: { delay: 0.05, fail: 0.01, drop: 0.005 },
    duplicate: 0.05,
    late: 0.05,
  };
}
