import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ask, type Driver, drive, firstToken, initialized, newSession } from "./acp-driver.ts";
import { loads } from "./acp-loads.ts";
import { streams } from "./acp-streams.ts";
import { newHome, postrider } from "./acp-subjects.ts";
import { writtenBy } from "./commits.ts";
import type { Size } from "./gateway.ts";
import type { Report } from "./goals.ts";
import { median, quantile } from "./measure.ts";
import { folder, text } from "./subjects.ts";

const BARE = fileURLToPath(new URL("./acp-bare.mjs", import.meta.url));
const fixed = (value: number, digits = 0): string => value.toFixed(digits);

/** `postrider acp` as an editor meets it: a process at the other end of a pipe. */
export async function acp(report: Report, size: Size): Promise<void> {
  await starts(report, size);
  await turns(report, size);
  await loads(report, size);
  await streams(report, size);
}

const STAGES = ["initialize", "session/new", "first token"] as const;

async function starts(report: Report, { quick }: Size): Promise<void> {
  report.heading("Starting an editor's agent");
  const [plain, configured] = [newHome(), newHome("timezone: Europe/Berlin\nlog:\n  level: info\n")];
  const subjects: Readonly<Record<string, () => Driver>> = {
    "the protocol's library alone": () => drive([BARE]),
    "postrider acp": () => postrider(plain),
    "the same, with a configuration file": () => postrider(configured),
  };
  const names = Object.keys(subjects);
  const took: number[][][] = names.map(() => []);
  // The first starts fill the compile cache and make the homes.
  for (let run = -2; run < (quick ? 7 : 21); run += 1) {
    for (const [at, start] of Object.values(subjects).entries()) {
      const times = await stages(start());
      if (run >= 0) took[at]?.push(times);
    }
  }
  const [bare = []] = took;
  const timesOf = (runs: readonly number[][], stage: number): number[] =>
    runs.map((run) => run[stage] ?? Number.NaN);
  report.table(
    ["from the start to, ms", ...STAGES, ...STAGES.map((stage) => `${stage}, least`)],
    took.map((runs, at) => [
      names[at] ?? "",
      ...STAGES.map((_, stage) => fixed(median(timesOf(runs, stage)))),
      ...STAGES.map((_, stage) => fixed(Math.min(...timesOf(runs, stage)))),
    ]),
  );
  report.note("");
  for (const [at, runs] of took.entries()) {
    if (at === 0) continue;
    for (const stage of [0, 2]) {
      const more = median(
        runs.map((run, n) => (run[stage] ?? Number.NaN) - (bare[n]?.[stage] ?? Number.NaN)),
      );
      const what = `${STAGES[stage]} above the library alone, ms${at === 1 ? "" : ", with a configuration file"}`;
      report.goal(what, more, { atMost: 150 });
    }
  }
}

/** Milliseconds from the start of the process to each stage. */
async function stages(driver: Driver): Promise<number[]> {
  await initialized(driver);
  const told = performance.now();
  const session = await newSession(driver, folder);
  const opened = performance.now();
  const token = firstToken(driver);
  const answered = ask(driver, session, "hello");
  const first = await token;
  await answered;
  await driver.end();
  return [told, opened, first].map((at) => at - driver.spawned);
}

async function turns(report: Report, { quick }: Size): Promise<void> {
  const count = quick ? 300 : 1000;
  report.heading(`${count.toLocaleString("en")} turns in one session of an editor`);
  const home = newHome();
  const driver = postrider(home);
  await initialized(driver);
  // What is compiled while it runs is not the session's.
  const warm = await newSession(driver, folder);
  for (let turn = 0; turn < 200; turn += 1) await ask(driver, warm, text(turn));
  const session = await newSession(driver, folder);
  const times: number[] = [];
  let turn = 0;
  const one = async (): Promise<void> => {
    const before = performance.now();
    await ask(driver, session, text(turn));
    times.push(performance.now() - before);
    turn += 1;
  };
  while (turn < count) await one();
  const parts = [times.slice(0, 100), times.slice(count / 2 - 50, count / 2 + 50), times.slice(-100)];
  const [first = 0, middle = 0, last = 0] = parts.map((part) => median(part));
  report.table(
    ["turns", "p50 ms", "p99 ms"],
    [
      ["the first hundred", first, parts[0]],
      ["a hundred in the middle", middle, parts[1]],
      ["the last hundred", last, parts[2]],
    ].map(([name, p50, part]) => [
      String(name),
      fixed(Number(p50), 2),
      fixed(quantile(part as number[], 0.99), 2),
    ]),
  );
  report.note("");
  report.goal(`the last hundred of ${count} turns against the first, p50`, last / first, { atMost: 1.25 });
  const some = 50;
  const { commits, bytes } = await writtenBy(join(home, "postrider.db"), async () => {
    for (let more = 0; more < some; more += 1) await one();
  });
  await driver.end();
  report.goal("commits per turn", commits / some, { atMost: 3.1 });
  report.note(`bytes written to the log per turn: ${fixed(bytes / some)}`);
}
