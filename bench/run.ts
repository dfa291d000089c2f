import { statSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { createSessions, OWNER } from "../src/index.ts";
import { acp } from "./acp.ts";
import { commitsOf } from "./commits.ts";
import { doctor } from "./doctor.ts";
import { gateway } from "./gateway.ts";
import { Report } from "./goals.ts";
import { atOnce, median, oneByOne, quantile, ratio, rounds, type Timed, typical } from "./measure.ts";
import { modelOverhead } from "./model-overhead.ts";
import { processes } from "./processes.ts";
import { promptCache } from "./prompt-cache.ts";
import { startUps } from "./start-up.ts";
import { bare, filled, newFile, seeded, subject, text } from "./subjects.ts";
import { isInMemory } from "./temporary-files.ts";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean" },
    only: { type: "string" },
    out: { type: "string" },
    "memory-disk": { type: "boolean" },
    help: { type: "boolean" },
  },
});
if (options.help) {
  process.stdout.write(
    `npm run bench [-- --quick] [--only PART] [--memory-disk] [--out FILE]\nMeasures Postrider against bare loops and prints each goal as met or missed.\n--memory-disk puts the files on a file system in memory, such as /dev/shm.\n`,
  );
  process.exit(0);
}
const report = new Report();
const ROUNDS = options.quick ? 1 : 5;
const TURNS = options.quick ? 300 : 1500;
const who = { person: OWNER };
/** A disk hides what the store itself costs, so without one the goals are lower. */
const TURN_GOALS = isInMemory ? { inProcess: 0.8, workers: 0.5 } : { inProcess: 0.85, workers: 0.6 };
const fixed = (value: number, digits = 0): string => value.toFixed(digits);
const row = (name: string, timed: Timed, x: number): string[] => [
  name,
  fixed(timed.perSecond),
  `${fixed(x, 2)}×`,
  fixed(timed.p50, 2),
  fixed(timed.p99, 2),
];

report.note(
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}; medians of ${ROUNDS} interleaved rounds of ${TURNS}; 400-byte messages; synchronous=FULL${isInMemory ? "; files in memory" : ""}.`,
);
const size = { rounds: ROUNDS, turns: TURNS, quick: options.quick === true };
const parts = {
  turns,
  manyAtOnce,
  histories,
  shapes,
  search,
  costs,
  gateway: () => gateway(report, size),
  model,
  "prompt-cache": () => promptCache(report),
  startUp,
  acp: () => acp(report, size),
  processes: () => processes(report, size),
  doctor: () => doctor(report, size),
  // Loaded when it runs: the store on PostgreSQL needs the generated twin.
  postgres: async () => (await import("./postgres.ts")).postgres(report, size),
};
for (const [name, part] of Object.entries(parts)) {
  if (options.only === undefined || options.only === name) await part();
}
const text_ = report.end();
if (options.out !== undefined) writeFileSync(options.out, `${text_}\n`);

async function turns(): Promise<void> {
  report.heading("Turns one by one (accept + finish, two commits)");
  const few: Record<string, number> = {};
  for (const conversations of [10, 1_000, 10_000]) {
    const [floorFile, hereFile, thereFile] = [
      await seeded(conversations),
      await seeded(conversations),
      await seeded(conversations),
    ];
    const floor = bare(floorFile);
    const here = await subject(hereFile, "in-process");
    const there = await subject(thereFile, "workers");
    let at = 0;
    // A stride that visits every conversation, so that 10,000 of them touch as many pages as they can.
    const pick = (): number => (at++ * 7919) % conversations;
    const results = await rounds(ROUNDS, {
      bare: async () => {
        const timed = await oneByOne(TURNS, (i) => floor.turn(pick(), i));
        floor.index();
        return timed;
      },
      inProcess: () => oneByOne(TURNS, (i) => here.turn(pick(), i)),
      workers: () => oneByOne(TURNS, (i) => there.turn(pick(), i)),
    });
    report.note(`\n${conversations} conversations:\n`);
    report.table(
      ["", "turns/s", "x bare", "p50 ms", "p99 ms"],
      [
        row("bare loop", typical(results.bare), 1),
        row("in-process", typical(results.inProcess), ratio(results.inProcess, results.bare)),
        row("workers", typical(results.workers), ratio(results.workers, results.bare)),
      ],
    );
    report.note("");
    report.goal(
      `in-process, ${conversations} conversations, x bare`,
      ratio(results.inProcess, results.bare),
      { atLeast: TURN_GOALS.inProcess },
    );
    report.goal(`workers, ${conversations} conversations, x bare`, ratio(results.workers, results.bare), {
      atLeast: TURN_GOALS.workers,
    });
    for (const name of ["bare", "inProcess", "workers"] as const) {
      const speed = typical(results[name]).perSecond;
      if (conversations === 10) few[name] = speed;
      if (conversations === 10_000 && name !== "bare") {
        report.goal(`${name}, 10,000 conversations against 10`, speed / (few[name] ?? 1), { atLeast: 0.75 });
      }
    }
    floor.close();
    await here.store.close();
    await there.store.close();
  }
}

async function manyAtOnce(): Promise<void> {
  report.heading("64 sessions at once");
  const here = await subject(await seeded(64), "in-process");
  const there = await subject(await seeded(64), "workers");
  const count = TURNS * 2;
  const results = await rounds(ROUNDS, {
    hereOne: () => oneByOne(TURNS, (i) => here.turn(i % 64, i)),
    thereOne: () => oneByOne(TURNS, (i) => there.turn(i % 64, i)),
    here64: () => atOnce(64, count, (i, lane) => here.turn(lane, i)),
    there64: () => atOnce(64, count, (i, lane) => there.turn(lane, i)),
  });
  const base = results.hereOne;
  report.table(
    ["", "turns/s", "x in-process one by one", "p50 ms", "p99 ms"],
    [
      row("in-process, one by one", typical(results.hereOne), 1),
      row("workers, one by one", typical(results.thereOne), ratio(results.thereOne, base)),
      row("in-process, 64 at once", typical(results.here64), ratio(results.here64, base)),
      row("workers, 64 at once", typical(results.there64), ratio(results.there64, base)),
    ],
  );
  report.note("");
  report.goal(
    "workers, 64 at once against one writer on the same path",
    ratio(results.there64, results.thereOne),
    { atLeast: 5 },
  );
  report.goal("workers, 64 at once against in-process one by one", ratio(results.there64, base), {
    atLeast: 3,
  });
  report.goal("in-process, 64 at once against in-process one by one", ratio(results.here64, base), {
    atLeast: 3,
  });
  const sustained = await atOnce(64, TURNS * 12, (i, lane) => there.turn(lane, i));
  report.note(
    `\nFor ${fixed((TURNS * 12) / sustained.perSecond)} s without a pause, when words have to be indexed between the calls: workers, 64 at once, ${fixed(sustained.perSecond)} turns/s, p99 ${fixed(sustained.p99)} ms.`,
  );
  await here.store.close();
  await there.store.close();
}

async function histories(): Promise<void> {
  report.heading("Loading a history");
  const file = newFile();
  const { store } = await subject(file, "workers");
  const sizes = [50, 500, 2_000, 5_000];
  const ids: string[] = [];
  for (const size of sizes) ids.push(await filled(store, size));
  const floor = bare(file);
  const rows: string[][] = [];
  for (const [at, size] of sizes.entries()) {
    const count = Math.max(40, Math.round(200_000 / size));
    const results = await rounds(ROUNDS * 2, {
      bare: () => oneByOne(count, () => floor.scan(at + 1, size).length),
      postrider: () =>
        oneByOne(
          count,
          async () => (await store.messages.readHistory({ asker: who, session: ids[at] ?? "" }))?.length,
        ),
    });
    const x = 1 / ratio(results.postrider, results.bare);
    rows.push([
      String(size),
      fixed(typical(results.bare).p50, 3),
      fixed(typical(results.postrider).p50, 3),
      `${fixed(x, 2)}×`,
    ]);
    report.goal(`${size} messages, x a bare scan${size > 2_000 ? " (through the reader)" : ""}`, x, {
      atMost: size > 2_000 ? 2.5 : 1.25,
    });
  }
  report.note("");
  report.table(["messages", "bare ms", "Postrider ms", "x"], rows);
  floor.close();
  await store.close();
}

async function shapes(): Promise<void> {
  report.heading("Fork and undo");
  const { store } = await subject(newFile(), "in-process");
  const sessions = createSessions({ store });
  const rows: string[][] = [];
  const p50: Record<string, number> = {};
  for (const size of [10, 10_000]) {
    const id = await filled(store, size);
    const times: Record<string, number[]> = { fork: [], undo: [], redo: [] };
    const take = async (name: string, step: () => Promise<unknown>): Promise<void> => {
      const before = performance.now();
      await step();
      times[name]?.push(performance.now() - before);
    };
    for (let i = 0; i < (options.quick ? 20 : 200); i++) {
      await take("fork", () => sessions.fork(who, id));
      await take("undo", () => sessions.undo(who, id));
      await take("redo", () => sessions.redo(who, id));
    }
    for (const [name, list] of Object.entries(times)) p50[`${name} ${size}`] = quantile(list, 0.5);
    rows.push([
      String(size),
      ...["fork", "undo", "redo"].map((name) => fixed(p50[`${name} ${size}`] ?? 0, 3)),
    ]);
  }
  report.table(["messages", "fork p50 ms", "undo p50 ms", "redo p50 ms"], rows);
  report.note("");
  for (const name of ["fork", "undo"]) {
    report.goal(
      `${name} at 10,000 messages against 10`,
      (p50[`${name} 10000`] ?? 0) / (p50[`${name} 10`] ?? 1),
      { atMost: 2 },
    );
  }
  await store.close();
}

async function search(): Promise<void> {
  const total = options.quick ? 20_000 : 200_000;
  report.heading(`Search over ${total.toLocaleString("en")} messages`);
  const { store } = await subject(newFile(), "workers");
  const sessions = createSessions({ store });
  for (let at = 0; at < total / 1_000; at++) {
    const { session } = await sessions.open({ platform: "local", chatId: `s${at}` });
    const messages = Array.from({ length: 1_000 }, (_, i) => ({
      role: i % 2 === 0 ? ("user" as const) : ("assistant" as const),
      text: text(at * 1_000 + i),
    }));
    await sessions.append(who, session.id, messages);
  }
  const start = performance.now();
  // The writer indexes when nobody asks anything of it.
  while (
    JSON.stringify(await store.messages.searchMessages({ asker: who, text: "n4999", limit: 1 })) === "[]"
  )
    await new Promise((r) => setTimeout(r, 100));
  await indexed(store);
  report.note(`indexed ${fixed((performance.now() - start) / 1000, 1)} s after the last append\n`);
  const rows: string[][] = [];
  for (const words of ["n4711", "session lease", '"every answer"', "the", "se*"]) {
    const times: number[] = [];
    let hits = 0;
    for (let i = 0; i < 20; i++) {
      const before = performance.now();
      hits = (await sessions.search(who, words)).length;
      times.push(performance.now() - before);
    }
    rows.push([words, String(hits), fixed(quantile(times, 0.5), 1), fixed(quantile(times, 0.95), 1)]);
  }
  report.table(["query", "hits shown", "p50 ms", "p95 ms"], rows);
  await store.close();
}

async function indexed(store: Awaited<ReturnType<typeof subject>>["store"]): Promise<void> {
  // A search scans what is not indexed yet, so it becomes steady when the index is complete.
  let last = Number.POSITIVE_INFINITY;
  for (let steady = 0; steady < 3; ) {
    const before = performance.now();
    await store.messages.searchMessages({ asker: who, text: "zzz" });
    const took = performance.now() - before;
    steady = took < 5 && last < 5 ? steady + 1 : 0;
    last = took;
    await new Promise((r) => setTimeout(r, 100));
  }
}

async function costs(): Promise<void> {
  report.heading("What a turn and a message cost");
  const file = await seeded(10);
  const here = await subject(file, "in-process");
  const count = 100;
  const made = await commitsOf(file, () => oneByOne(count, (i) => here.turn(i % 10, i)));
  report.goal("commits per turn (the index's own included)", made / count, { atMost: 2.2 });
  await here.store.close();
  const big = newFile();
  const { store } = await subject(big, "in-process");
  const messages = 20_000;
  await filled(store, messages);
  await store.close();
  const size = statSync(big).size;
  const said = median(Array.from({ length: 100 }, (_, i) => Buffer.byteLength(text(i))));
  report.note(
    `bytes per message on the disk: ${fixed(size / messages)} for ${fixed(said)} bytes of text, what is indexed so far included`,
  );
}

async function startUp(): Promise<void> {
  report.heading("Starting a short command");
  const results = await startUps([20, 100_000]);
  report.table(
    ["sessions in the home", "node -e 0, ms", "postrider sessions list, ms", "more, ms"],
    results.map(({ sessions, node, list }) => [
      sessions.toLocaleString("en"),
      fixed(node, 1),
      fixed(list, 1),
      fixed(list - node, 1),
    ]),
  );
  report.note("");
  for (const { sessions, node, list } of results) {
    const what = `postrider sessions list above node -e 0, ms, ${sessions.toLocaleString("en")} sessions`;
    report.goal(what, list - node, { atMost: sessions > 1000 ? 100 : 50 });
  }
}

async function model(): Promise<void> {
  report.heading("A turn with a model against the bare client's call");
  const { bare: call, turn, more } = await modelOverhead("workers", options.quick ? 50 : 300);
  report.table(
    ["", "p50 ms"],
    [
      ["the client's call, 21 messages, 40 pieces", fixed(call, 2)],
      ["the turn: accepted, asked, stored", fixed(turn, 2)],
      ["more than the call before it", fixed(more, 2)],
    ],
  );
  report.note("");
  report.goal("a turn above the bare call, ms, p50", more, { atMost: 5 });
}
