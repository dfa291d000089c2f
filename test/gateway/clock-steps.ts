import { setTimeout as wait } from "node:timers/promises";
import { DEFAULT_RESET } from "../../src/index.ts";
import { percentile } from "../support/numbers.ts";
import type { Random } from "../support/random.ts";
import { chances, driveLoad, type LoadReport } from "./load.ts";
import type { Witnessed } from "./protocol.ts";
import { marksIn } from "./verdict.ts";

export interface ClockPlan {
  /** An empty folder. */
  readonly folder: string;
  readonly seed: number;
  /** How often the system clock of a gateway is changed. */
  readonly steps: number;
  readonly progress?: (text: string) => void;
}

export interface ClockReport extends LoadReport {
  readonly steps: number;
  /** Approval requests that were allowed in time. */
  readonly allowed: number;
  /** Texts whose answer took longer than a clock step may delay it, by the messenger's clock. */
  readonly late: readonly string[];
  /** The time of the slowest answer. */
  readonly slowestMs: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const STEPS_PER_KILL = 8;
const PEOPLE = 12;
/** The maximum delay by a clock step; a turn may take 6 seconds, and a queue has a few. */
export const LATEST_MS: number = MINUTE;
/** On a busy machine every answer is slow. A clock step delays single answers, by as much as the clock was changed. */
const MOST_OF_USUAL = 10;
const TURN_MINUTES = 0.1;

/**
 * People write to a gateway whose system clock is set back and ahead repeatedly, by minutes or by days, while
 * retries, approvals and hanging turns are pending, and while it is killed and restarted with another time.
 */
export async function driveClockSteps(plan: ClockPlan): Promise<ClockReport> {
  const { folder, seed, steps, progress } = plan;
  let made = 0;
  const report = await driveLoad({
    folder,
    seed,
    kills: Math.ceil(steps / STEPS_PER_KILL),
    people: PEOPLE,
    outbound: "idempotent",
    ...(progress !== undefined && { progress }),
    variant: {
      lifeMs: 4000,
      // Often enough that a retry is pending at every clock change.
      messenger: { chances: { ...chances(seed), send: { delay: 0.1, fail: 0.2, wait: 0.05, cut: 0.02 } } },
      child: (random) => ({
        aheadMs: aheadBy(random),
        settings: { turnMinutes: TURN_MINUTES, reset: DEFAULT_RESET },
      }),
      words: (random, { name }, number) => {
        const chance = random.next();
        if (chance < 0.25) return ` ask ${name}-${number}`;
        return chance < 0.28 ? " pause 30000" : "";
      },
      during(child, random) {
        const over = new AbortController();
        const step = async (): Promise<void> => {
          while (!over.signal.aborted) {
            await wait(random.between(50, 500), undefined, { signal: over.signal }).catch(() => {});
            if (over.signal.aborted) return;
            child.tell({ aheadMs: aheadBy(random) });
            made += 1;
          }
        };
        void step();
        return () => over.abort();
      },
      witness(judge, event) {
        const question = event.kind === "sent" ? /Errand of (p\d+)-/.exec(event.text) : null;
        const line = event.kind === "sent" ? event.buttons?.[0]?.[0]?.line : undefined;
        if (event.kind !== "sent" || question?.[1] === undefined || line === undefined) return;
        // A failed press counts as no answer.
        void judge.press(event.chat, event.messageId, question[1], line).catch(() => {});
      },
    },
  });
  const { late, slowestMs } = latenessIn(report.witnessed);
  const allowed = report.witnessed.filter(
    (event) => event.kind === "sent" && event.text.includes("(allowed)"),
  ).length;
  return { ...report, steps: made, late, slowestMs, allowed };
}

/** Half of the time the clock is right; otherwise wrong by minutes, hours or days, in either direction. */
function aheadBy(random: Random): number {
  const chance = random.next();
  if (chance < 0.4) return 0;
  const most = chance < 0.6 ? 10 * MINUTE : chance < 0.8 ? 3 * 60 * MINUTE : 5 * DAY;
  return random.between(-most, most);
}

/** The texts that were answered too late. Both times are from the messenger's clock, which is never changed. */
export function latenessIn(witnessed: readonly Witnessed[]): {
  readonly late: readonly string[];
  readonly slowestMs: number;
} {
  const saidAt = new Map<string, number>();
  const took = new Map<string, number>();
  for (const event of witnessed) {
    if (event.kind === "said") for (const mark of marksIn(event.text)) saidAt.set(mark, event.at);
    if (event.kind !== "sent" && event.kind !== "edited") continue;
    for (const mark of marksIn(event.text)) {
      const said = saidAt.get(mark);
      if (said !== undefined && !took.has(mark)) took.set(mark, event.at - said);
    }
  }
  const limitMs = Math.max(LATEST_MS, MOST_OF_USUAL * percentile([...took.values()], 0.5));
  const late = [...took].filter(([, ms]) => ms > limitMs);
  return {
    late: late.map(([mark, ms]) => `${mark} was answered after ${Math.round(ms / 1000)} seconds`),
    slowestMs: Math.max(0, ...took.values()),
  };
}
