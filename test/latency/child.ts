/** A busy gateway on a large database: measures the delays of its main thread and of its callers. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import {
  buildRouting,
  createSessions,
  emptyUsage,
  localRunner,
  OWNER,
  sqliteStore,
  throwIfRefused,
} from "../../src/index.ts";
import { say } from "../support/child.ts";
import { indexed } from "../support/database.ts";
import { percentile } from "../support/numbers.ts";
import { seeded } from "../support/random.ts";
import { settings } from "../support/routing.ts";

export interface Measured {
  readonly messages: number;
  readonly importSeconds: number;
  readonly indexSeconds: number;
  readonly loop: Times;
  /** The maximum delay of the event loop, and the p99 of accepting, in each second. */
  readonly eachSecond: { readonly loop: readonly number[]; readonly accept: readonly number[] };
  readonly append: Times;
  readonly accept: Times;
  readonly search: Times;
  readonly history: Times;
  readonly appendsPerSecond: number;
  /** Searches for a word that is in most messages. */
  readonly commonHits: number;
}

export interface Times {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const [file = "", seconds = ""] = process.argv.slice(2);
const OLD_SESSIONS = 200;
const OLD_MESSAGES = 1000;
const LIVE_SESSIONS = 64;
const WARM_UP_MS = 1500;

const who = { person: OWNER };
const random = seeded(11);
const store = await sqliteStore({ file });
const sessions = createSessions({ store, zone: settings.zone, reset: settings.reset });

const vocabulary = Array.from({ length: 5000 }, () =>
  Array.from({ length: random.between(3, 9) }, () => String.fromCharCode(97 + random.between(0, 25))).join(
    "",
  ),
);
function text(): string {
  const words = Array.from({ length: 20 }, () => random.pick(vocabulary)).join(" ");
  return random.next() < 0.75 ? `the ${words}` : words;
}

const began = performance.now();
for (let first = 0; first < OLD_SESSIONS; first += 8) {
  await Promise.all(Array.from({ length: 8 }, (_, n) => importOld(`old-${first + n}`)));
}
const imported = performance.now();
await indexed(file);
const ready = performance.now();

const runner = localRunner();
await store.runners.recordHeartbeat({ runner, now: Date.now() });
const claim = { runner: runner.id, take: "one" } as const;
const live = Array.from({ length: LIVE_SESSIONS }, (_, n) => `live-${n}`);
for (const id of live) await sessions.create(who, { id });

const times = {
  append: [] as number[],
  accept: [] as number[],
  search: [] as number[],
  history: [] as number[],
};
let measuring = false;
let commonHits = 0;
async function timed<T>(kind: keyof typeof times, call: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const value = await call();
  if (measuring) times[kind].push(performance.now() - start);
  return value;
}

const loop = monitorEventLoopDelay({ resolution: 1 });
loop.enable();
const second = monitorEventLoopDelay({ resolution: 1 });
second.enable();
const eachSecond = { loop: [] as number[], accept: [] as number[] };
let counted = 0;
const end = performance.now() + WARM_UP_MS + Number(seconds) * 1000;
const running = (): boolean => performance.now() < end;
setTimeout(() => {
  measuring = true;
  loop.reset();
  second.reset();
  setInterval(() => {
    eachSecond.loop.push(second.max / 1e6);
    eachSecond.accept.push(percentile(times.accept.slice(counted), 0.99));
    counted = times.accept.length;
    second.reset();
  }, 1000);
}, WARM_UP_MS);

await Promise.all([
  // 20 appends every 10 ms, to all sessions in turn: about 2,000 a second.
  paced(10, (tick) =>
    Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        const id = live[(tick * 20 + n) % LIVE_SESSIONS] ?? "";
        return timed("append", () => sessions.append(who, id, { role: "user", text: text() }));
      }),
    ),
  ),
  // A message every 10 ms, accepted and answered.
  paced(10, async (tick) => {
    const chat = `chat-${tick % LIVE_SESSIONS}`;
    const accepted = await timed("accept", () =>
      store.inbox.accept({
        ...buildRouting({ platform: "telegram", chatId: chat, userId: chat }, settings),
        messageId: `${tick}`,
        message: { role: "user", parts: [{ type: "text", text: text() }] },
        claim,
      }),
    );
    if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined) return;
    const { number, fence } = accepted.turn;
    throwIfRefused(
      await store.turns.finish({
        turn: number,
        fence,
        outcome: "done",
        messages: [{ role: "assistant", parts: [{ type: "text", text: text() }] }],
        now: Date.now(),
      }),
    );
  }),
  // A search is always in progress, every fourth one for the word that is nearly everywhere.
  (async () => {
    for (let n = 0; running(); n += 1) {
      const word = n % 4 === 0 ? "the" : random.pick(vocabulary);
      const hits = await timed("search", () => sessions.search(who, word));
      if (word === "the" && hits.length > 0) commonHits += 1;
    }
  })(),
  paced(10, (tick) =>
    timed("history", () => sessions.history(who, `old-${tick % OLD_SESSIONS}`, { offset: 100, limit: 500 })),
  ),
]);
loop.disable();

say({
  messages: OLD_SESSIONS * OLD_MESSAGES,
  importSeconds: (imported - began) / 1000,
  indexSeconds: (ready - imported) / 1000,
  loop: {
    count: loop.count,
    p50: loop.percentile(50) / 1e6,
    p99: loop.percentile(99) / 1e6,
    max: loop.max / 1e6,
  },
  eachSecond,
  append: summary(times.append),
  accept: summary(times.accept),
  search: summary(times.search),
  history: summary(times.history),
  appendsPerSecond: times.append.length / Number(seconds),
  commonHits,
} satisfies Measured);
await store.close();
process.exit(0);

/** Starts a step at a fixed interval, even if the previous one has not ended. */
async function paced(everyMs: number, step: (tick: number) => Promise<unknown>): Promise<void> {
  const steps: Promise<unknown>[] = [];
  const start = performance.now();
  for (let tick = 0; running(); tick += 1) {
    steps.push(step(tick));
    const next = start + (tick + 1) * everyMs;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
  }
  await Promise.all(steps);
}

async function importOld(id: string): Promise<void> {
  const messages = Array.from({ length: OLD_MESSAGES }, (_, n) => ({
    role: n % 2 === 0 ? ("user" as const) : ("assistant" as const),
    at: Date.now(),
    parts: [{ type: "text" as const, text: text() }],
  }));
  throwIfRefused(
    await store.sessions.importSession({
      session: { id, kind: "chat", owner: OWNER },
      profile: "main",
      usage: emptyUsage(),
      createdAt: Date.now(),
      messages,
      blobs: [],
      shows: [{ from: 1, to: OLD_MESSAGES }],
      hidden: [],
      now: Date.now(),
    }),
  );
}

function summary(values: readonly number[]): Times {
  const [p50 = 0, p99 = 0, max = 0] = [0.5, 0.99, 1].map((share) => percentile(values, share));
  return { count: values.length, p50, p99, max };
}
