import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { FakeControls } from "../../src/testing/fake-telegram/index.ts";
import { look } from "../support/database.ts";
import { percentile } from "../support/numbers.ts";
import { type Random, seeded } from "../support/random.ts";
import type { TelegramChildLine } from "../telegram-gateway/gateway-process.ts";
import {
  kill,
  type RunningGateway,
  shownIn,
  startTelegram,
  startTelegramChild,
} from "../telegram-gateway/scene.ts";
import { type ChatRecord, type Verdict, verdictOn } from "../telegram-gateway/verdict.ts";

export interface FloodPlan {
  /** An empty folder. */
  readonly folder: string;
  readonly seed: number;
  /** The number of floods with a kill; the same number is measured without one. */
  readonly kills: number;
  readonly progress?: (text: string) => void;
}

/** The verdict covers only the honest people: only their texts contain marks. */
export interface FloodReport extends Verdict {
  readonly kills: number;
  readonly flood: number;
  /** Deliveries in progress when the process was killed. */
  readonly leftSends: number;
  /** Inbox rows of strangers. */
  readonly strangerRows: number;
  /** Messages to strangers, without repetitions after kills. */
  readonly strangerAnswers: number;
  /** The median time until the answer to an honest person, without and during a flood. */
  readonly quietMs: number;
  readonly floodMs: number;
  readonly errors: readonly string[];
}

export const STRANGERS = 3;
/** The maximum factor by which a flood may slow down the median answer to an honest person in the same run. */
export const MOST_TIMES_SLOWER = 40;
const MEMBERS = 2;
const HONEST = 5;
/** Messages that each flooder sends in a flood. */
const EACH = 400;
const LONGEST_WAIT_MS = 30_000;

interface Honest {
  readonly name: string;
  readonly user: number;
  readonly chat: number;
  said: number;
}

/**
 * Strangers and members flood a gateway on Telegram while honest people write to it. In every second flood the gateway is
 * killed and restarted. The seed determines when.
 */
export async function driveFlood(plan: FloodPlan): Promise<FloodReport> {
  const { folder, seed, kills } = plan;
  const file = join(folder, "postrider.db");
  const random = seeded(seed);
  const telegram = await startTelegram(1);
  const { people, token } = telegram.bot();
  const ids = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);
  const [strangers, members] = [ids(100, STRANGERS), ids(200, MEMBERS)];
  const allow = [...members, ...ids(300, HONEST)].map(String);
  const settings = {
    access: { everywhere: { allow }, platforms: {} },
    busy: "collect",
    maxPending: 50,
  } as const;
  const run = (): RunningGateway =>
    startTelegramChild({ file, token, apiRoot: telegram.fake.url, agent: "echo", settings });
  const report = { kills: 0, flood: 0, leftSends: 0, errors: [] as string[] };
  const [quiet, flooded]: [number[], number[]] = [[], []];
  let child = run();
  try {
    for (const user of [...strangers, ...members]) await people.openDm(user);
    const honest = await Promise.all(ids(300, HONEST).map((user, at) => meet(people, user, `p${at}`)));
    await child.ready();
    await askAll(people, honest, report.errors); // the first turn of a process takes longer than others
    for (let round = 1; round <= kills; round += 1) {
      quiet.push(...(await askAll(people, honest, report.errors)));
      await flood(people, [...strangers, ...members], random);
      flooded.push(...(await askAll(people, honest, report.errors)));
      await people.untilIdle();
      await flood(people, [...strangers, ...members], random);
      const asked = askAll(people, honest, report.errors);
      await wait(random.between(0, 300));
      await kill(child);
      report.kills += 1;
      report.errors.push(...complaintsOf(child));
      report.leftSends += countIn(file, "select count(*) from deliveries where state = 'sending'");
      child = run();
      await asked;
      await people.untilIdle();
      report.flood += 2 * EACH * (STRANGERS + MEMBERS);
      plan.progress?.(`${report.flood} messages of floods, ${report.kills} of ${kills} kills`);
    }
    report.errors.push(...complaintsOf(child));
    return {
      ...report,
      ...verdictOn(await recordOf(people)),
      strangerRows: countIn(
        file,
        `select count(*) from inbox where chat_id in (${strangers.map((id) => `'${id}'`).join(", ")})`,
      ),
      strangerAnswers: await answersTo(people, strangers),
      quietMs: percentile(quiet, 0.5),
      floodMs: percentile(flooded, 0.5),
    };
  } finally {
    await kill(child);
    await telegram.stop();
  }
}

async function meet(people: FakeControls, user: number, name: string): Promise<Honest> {
  await people.addUser({ id: user, firstName: name });
  return { name, user, chat: await people.openDm(user), said: 0 };
}

/** Every honest person sends one text. Resolves with the time until each answer. */
function askAll(people: FakeControls, honest: readonly Honest[], errors: string[]): Promise<number[]> {
  return Promise.all(
    honest.map(async (person) => {
      person.said += 1;
      const mark = `[${person.name}-${person.said}]`;
      const start = performance.now();
      await people.say(person.chat, person.user, `${mark} hello`);
      const late = new AbortController();
      const isLate = wait(LONGEST_WAIT_MS, true, { signal: late.signal }).catch(() => false);
      const shown = people.untilShown(person.chat, `You said: ${mark}`).then(() => false);
      if (await Promise.race([shown, isLate])) errors.push(`${mark} waited for ${LONGEST_WAIT_MS} ms`);
      late.abort();
      return performance.now() - start;
    }),
  );
}

/** All flooders at once; resolves when Telegram has everything. */
async function flood(people: FakeControls, users: readonly number[], random: Random): Promise<void> {
  const size = random.between(1, 40);
  await Promise.all(
    users.map(async (user) => {
      const all = Array.from({ length: EACH }, (_, at) => `flood ${at} ${"x".repeat(size)}`);
      await people.sayAll(user, user, all);
    }),
  );
}

async function recordOf(people: FakeControls): Promise<readonly ChatRecord[]> {
  const records: ChatRecord[] = [];
  for (const chat of await people.chats()) records.push({ chat, messages: await people.messages(chat) });
  return records;
}

async function answersTo(people: FakeControls, users: readonly number[]): Promise<number> {
  const texts = new Set<string>();
  for (const user of users)
    for (const { text } of await shownIn(people, user))
      texts.add(`${user} ${/[A-Z0-9]{4}-[A-Z0-9]{4}/.exec(text)?.[0] ?? text}`);
  return texts.size;
}

function countIn(file: string, sql: string): number {
  return look(file, (db) => Number(db.prepare(sql).pluck().get()));
}

function complaintsOf({ lines }: RunningGateway): string[] {
  return (lines as readonly TelegramChildLine[]).flatMap((line) => {
    if ("failed" in line) return [`a process ended by itself: ${line.failed.message}`];
    return "level" in line && line.level === "error" ? [`${line.words}: ${JSON.stringify(line.fields)}`] : [];
  });
}
