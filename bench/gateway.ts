import { spawnSync } from "node:child_process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { commitsOf } from "./commits.ts";
import { chatsIn, GATEWAY_ROWS, type GatewaySubject, gatewayOn, storeLoopOn } from "./gateway-subjects.ts";
import type { Report } from "./goals.ts";
import type { IdleMemory } from "./idle-memory.ts";
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
  idle(report, size);
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

/** How long an answer takes to be written, and how often somebody speaks, so that as many are being written at once. */
const THINKS_MS = 4000;
const EVERY_MS = THINKS_MS / CHATS;

async function latency(report: Report, { turns, quick }: Size): Promise<void> {
  report.heading("Waiting for the gateway");
  const one = await gatewayOn(await chatsIn(CHATS));
  for (let step = 0; step < 200; step += 1) await one.say(chatAt(step), text(step));
  const alone: Instants[] = [];
  const quiet = await loopDelay(async () => {
    for (let step = 200; step < turns + 200; step += 1) alone.push(await one.say(chatAt(step), text(step)));
  });
  await one.close();
  const many = await gatewayOn(await chatsIn(CHATS * 2), THINKS_MS);
  const crowd = talkIn(many);
  await pause(THINKS_MS * 2);
  const before = crowd.heard.length;
  let active = 0;
  const busy = await loopDelay(async () => {
    await pause(quick ? 5000 : 20_000);
    active = many.awaited();
  });
  const heard = crowd.heard.slice(before);
  await crowd.end();
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
      [`${active} (${(1000 / EVERY_MS).toFixed(0)} turns/s)`, ...columns(heard, busy)],
    ],
  );
  report.note("");
  const times = (of: (all: readonly Instants[]) => number[]): number =>
    quantile(of(heard), 0.5) / quantile(of(alone), 0.5);
  report.goal("1,000 at once against 1, event to agent, p50", times(start), { atMost: 3 });
  report.goal("1,000 at once against 1, agent to send, p50", times(end), { atMost: 3 });
  report.goal("loop delay with 1,000 at once, p99, ms", busy.p99, { atMost: 10 });
  report.goal("loop delay with 1,000 at once, max, ms", busy.max, { atMost: 50 });
}

const start = (all: readonly Instants[]): number[] => all.map(({ said, begun }) => begun - said);
const end = (all: readonly Instants[]): number[] => all.map(({ ended, sent }) => sent - ended);

/** Somebody new speaks every few milliseconds, whether or not the others were answered, until it ends. */
function talkIn(subject: GatewaySubject): { readonly heard: readonly Instants[]; end(): Promise<void> } {
  const heard: Instants[] = [];
  const free = Array.from({ length: CHATS * 2 }, (_, chat) => chat);
  let isOver = false;
  const speak = async (chat: number, step: number): Promise<void> => {
    heard.push(await subject.say(chat, text(step)));
    free.push(chat);
  };
  const talking = (async () => {
    const answers: Promise<void>[] = [];
    const began = performance.now();
    for (let step = 0; !isOver; step += 1) {
      await pause(began + step * EVERY_MS - performance.now());
      const chat = free.shift();
      if (chat !== undefined) answers.push(speak(chat, step)); // else everybody waits for an answer
    }
    await Promise.all(answers);
  })();
  return {
    heard,
    end() {
      isOver = true;
      return talking;
    },
  };
}

function pause(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
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

/** In a process of its own, or what earlier parts have left behind would be collected meanwhile. */
function idle(report: Report, { quick }: Size): void {
  const conversations = quick ? 2000 : 10_000;
  report.heading(`Memory of ${conversations.toLocaleString("en")} idle conversations`);
  const program = fileURLToPath(new URL("./idle-memory.ts", import.meta.url));
  const args = ["--expose-gc", program, String(conversations)];
  const child = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (child.status !== 0) throw new Error(`the idle gateway failed: ${child.stderr}`);
  const { held, each } = JSON.parse(child.stdout) as IdleMemory;
  report.note(`the main thread holds ${(held / 1e6).toFixed(1)} MB in all\n`);
  report.goal("bytes held per idle conversation", each, { atMost: 64 });
}
