import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { commitsOf } from "./commits.ts";
import { chatsIn, GATEWAY_ROWS, type GatewaySubject, gatewayOn, storeLoopOn } from "./gateway-subjects.ts";
import type { Report } from "./goals.ts";
import { atOnce, oneByOne, quantile, ratio, rounds, type Timed, typical } from "./measure.ts";
import type { Instants } from "./messenger.ts";
import { bare, text } from "./subjects.ts";

export interface Size {
  readonly rounds: number;
  readonly turns: number;
  readonly quick: boolean;
}

const CHATS = 1000;
const LANES = 64;
/** A stride that visits every chat, so that histories grow alike and stay short. */
const chatAt = (step: number): number => (step * 619) % CHATS;

/** The whole gateway between a messenger that costs nothing and an agent that repeats. */
export async function gateway(report: Report, size: Size): Promise<void> {
  await throughput(report, size);
  await latency(report, size);
  await commits(report);
  await idle(report, size);
}

async function throughput(report: Report, { rounds: count, turns }: Size): Promise<void> {
  report.heading("Turns through the whole gateway");
  const floor = bare(await chatsIn(CHATS), GATEWAY_ROWS);
  const loop = await storeLoopOn(await chatsIn(CHATS));
  const whole = await gatewayOn(await chatsIn(CHATS));
  const say = (step: number) => whole.say(chatAt(step), text(step));
  // Each chat belongs to one lane, or two would meet in it.
  const inLane = (step: number, lane: number): number =>
    ((step * 619) % Math.floor(CHATS / LANES)) * LANES + lane;
  let at = 0;
  const results = await rounds(count, {
    bare: async () => {
      const timed = await oneByOne(turns, () => floor.turn(chatAt(at), at++));
      floor.index();
      return timed;
    },
    store: () => oneByOne(turns, () => loop.turn(chatAt(at), at++)),
    gateway: () => oneByOne(turns, () => say(at++)),
    store64: () => atOnce(LANES, turns * 2, (step, lane) => loop.turn(inLane(step, lane), at++)),
    gateway64: () => atOnce(LANES, turns * 2, (step, lane) => whole.say(inLane(step, lane), text(at++))),
  });
  const row = (name: string, all: readonly Timed[], storeLoop: readonly Timed[]): string[] => {
    const { perSecond, p50, p99 } = typical(all);
    const [ofStore, ofBare] = [ratio(all, storeLoop), ratio(all, results.bare)];
    return [
      name,
      perSecond.toFixed(0),
      `${ofStore.toFixed(2)}×`,
      `${ofBare.toFixed(2)}×`,
      p50.toFixed(2),
      p99.toFixed(2),
    ];
  };
  report.table(
    ["", "turns/s", "x store loop", "x bare", "p50 ms", "p99 ms"],
    [
      row("bare loop, three commits", results.bare, results.store),
      row("store loop: accept, finish, settle", results.store, results.store),
      row("gateway, one by one", results.gateway, results.store),
      row(`store loop, ${LANES} at once`, results.store64, results.store64),
      row(`gateway, ${LANES} at once`, results.gateway64, results.store64),
    ],
  );
  report.note("");
  report.goal("gateway one by one, x the store loop", ratio(results.gateway, results.store), {
    atLeast: 0.7,
  });
  report.goal("gateway one by one, x bare", ratio(results.gateway, results.bare), { atLeast: 0.4 });
  report.goal(`gateway ${LANES} at once, x the store loop`, ratio(results.gateway64, results.store64), {
    atLeast: 0.4,
  });
  report.goal(`gateway ${LANES} at once against one by one`, ratio(results.gateway64, results.gateway), {
    atLeast: 2,
  });
  floor.close();
  await loop.close();
  await whole.close();
}

/** How long an answer takes to be written while many are: so many that this many are being written at any time. */
const THINKS_MS = 4000;
const EVERY_MS = THINKS_MS / CHATS;

async function latency(report: Report, { turns, quick }: Size): Promise<void> {
  report.heading("Waiting for the gateway");
  const one = await gatewayOn(await chatsIn(CHATS));
  const alone: Instants[] = [];
  const quiet = await loopDelay(async () => {
    for (let step = -100; step < turns; step += 1) {
      const instants = await one.say(chatAt(step + 100), text(step + 100));
      if (step >= 0) alone.push(instants);
    }
  });
  await one.close();
  const many = await gatewayOn(await chatsIn(CHATS * 2), THINKS_MS);
  const free = Array.from({ length: CHATS * 2 }, (_, chat) => chat);
  await talk(many, free, THINKS_MS * 1.5);
  const crowd: Instants[] = [];
  const counts: number[] = [];
  const busy = await loopDelay(() =>
    talk(many, free, quick ? 5000 : 20_000, (instants) => {
      crowd.push(instants);
      counts.push(many.awaited());
    }),
  );
  const active = quantile(counts, 0.5);
  await many.close();
  const columns = (all: readonly Instants[], { p99, max }: LoopDelay): string[] => [
    ...[start(all), end(all)].flatMap((times) =>
      [quantile(times, 0.5), quantile(times, 0.99)].map((ms) => ms.toFixed(2)),
    ),
    p99.toFixed(1),
    max.toFixed(1),
  ];
  report.table(
    [
      "answers being written",
      "event → agent p50 ms",
      "p99 ms",
      "agent → send p50 ms",
      "p99 ms",
      "loop p99 ms",
      "loop max ms",
    ],
    [
      ["1", ...columns(alone, quiet)],
      [`${active} (${(1000 / EVERY_MS).toFixed(0)} turns/s)`, ...columns(crowd, busy)],
    ],
  );
  report.note("");
  const times = (of: (all: readonly Instants[]) => number[]): number =>
    quantile(of(crowd), 0.5) / quantile(of(alone), 0.5);
  report.goal("1,000 at once against 1, event to agent, p50", times(start), { atMost: 3 });
  report.goal("1,000 at once against 1, agent to send, p50", times(end), { atMost: 3 });
  report.goal("loop delay with 1,000 at once, p99, ms", busy.p99, { atMost: 10 });
  report.goal("loop delay with 1,000 at once, max, ms", busy.max, { atMost: 50 });
}

const start = (all: readonly Instants[]): number[] => all.map(({ said, begun }) => begun - said);
const end = (all: readonly Instants[]): number[] => all.map(({ ended, sent }) => sent - ended);

/** Somebody new speaks every few milliseconds, whether or not the others were answered. Waits for the last answer. */
async function talk(
  subject: GatewaySubject,
  free: number[],
  ms: number,
  heard: (instants: Instants) => void = () => {},
): Promise<void> {
  const answers: Promise<void>[] = [];
  const began = performance.now();
  for (let step = 0; step * EVERY_MS < ms; step += 1) {
    const wait = began + step * EVERY_MS - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const chat = free.shift();
    if (chat === undefined) continue; // nobody is left who could say something
    answers.push(
      subject.say(chat, text(step)).then((instants) => {
        free.push(chat);
        heard(instants);
      }),
    );
  }
  await Promise.all(answers);
}

interface LoopDelay {
  readonly p99: number;
  readonly max: number;
}

async function loopDelay(work: () => Promise<void>): Promise<LoopDelay> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await work();
  delay.disable();
  return { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
}

async function commits(report: Report): Promise<void> {
  report.heading("Commits of a turn through the gateway");
  const file = await chatsIn(CHATS);
  const whole = await gatewayOn(file);
  const count = 64;
  let at = 0;
  const alone = await commitsOf(file, () => oneByOne(count, () => whole.say(chatAt(at), text(at++))));
  const together = await commitsOf(file, () =>
    Promise.all(Array.from({ length: count }, () => whole.say(chatAt(at), text(at++)))),
  );
  await whole.close();
  report.goal("commits per turn, one by one", alone / count, { atMost: 3.1 });
  report.goal(`commits per turn, ${count} at once`, together / count, { atMost: 1 });
}

async function idle(report: Report, { quick }: Size): Promise<void> {
  const conversations = quick ? 2000 : 10_000;
  report.heading(`Memory of ${conversations.toLocaleString("en")} idle conversations`);
  const whole = await gatewayOn(await chatsIn(0));
  let chat = 0;
  const meet = (count: number) => atOnce(LANES, count, () => whole.say(chat, text(chat++)));
  // What is compiled and kept once is not the conversations'.
  await meet(1000);
  const before = await heldBytes();
  await meet(conversations);
  const after = await heldBytes();
  await whole.close();
  const each = (after - before) / conversations;
  report.note(`${(before / 1e6).toFixed(1)} MB before, ${(after / 1e6).toFixed(1)} MB after\n`);
  report.goal("bytes held per idle conversation", each, { atMost: 64 });
}

/** What the main thread holds when nothing is under way. */
async function heldBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // Longer than any timer of a turn that has ended.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  for (let times = 0; times < 5; times += 1) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
