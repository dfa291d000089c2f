import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { FakeControls } from "../../src/testing/fake-telegram/index.ts";
import { look } from "../support/database.ts";
import { type Random, seeded } from "../support/random.ts";
import type { TelegramChildLine } from "./gateway-process.ts";
import { type Bot, kill, type RunningGateway, startTelegram, startTelegramChild } from "./scene.ts";
import { type ChatRecord, type Verdict, verdictOn } from "./verdict.ts";

export interface TelegramLoadPlan {
  /** An empty folder. */
  readonly folder: string;
  readonly seed: number;
  /** The number of texts; slightly more, because each person ends with an extra text. */
  readonly messages: number;
  readonly people: number;
  readonly kills: number;
  readonly progress?: (text: string) => void;
}

export interface TelegramLoadReport extends Verdict {
  readonly chats: number;
  readonly kills: number;
  /** Kills during a turn. */
  readonly hitTurns: number;
  /** Deliveries in progress when the process was killed. */
  readonly leftSends: number;
  /** Messages that Telegram accepted and did not confirm. */
  readonly droppedSends: number;
  /** Unconfirmed updates at Telegram. */
  readonly pending: number;
  readonly seconds: number;
  /** Errors of a process, its unexpected exits, and waits that timed out. */
  readonly errors: readonly string[];
}

const FAULTS = { duplicateUpdates: 0.05, dropSends: 0.05, cut: 0.02, badGateway: 0.02, delayMs: 4 };
/** After this many texts, the next message is accepted and not confirmed: chance alone may drop too few of them. */
const TEXTS_PER_DROP = 25;
/** The maximum number of texts without an answer. */
const MOST_UNANSWERED = 4;
/** A longer wait means a notice without an answer, or an error, which the final check detects. */
const LONGEST_WAIT_MS = 10_000;
const LAST_ANSWERS_MS = 90_000;

/**
 * Many people write to a gateway that is killed and restarted, over an unreliable Telegram. The seed determines the texts,
 * the times of the kills and the faults of Telegram; their interleaving depends on the machine.
 */
export async function driveTelegramLoad(plan: TelegramLoadPlan): Promise<TelegramLoadReport> {
  const start = performance.now();
  const { folder, seed, kills } = plan;
  const file = join(folder, "postrider.db");
  const telegram = await startTelegram(1);
  const bot = telegram.bot();
  const report = { kills: 0, hitTurns: 0, leftSends: 0, errors: [] as string[] };
  const run = (): RunningGateway =>
    startTelegramChild({ file, token: bot.token, apiRoot: telegram.fake.url, agent: "echo" });
  let child = run();
  try {
    const speakers = await speakersIn(bot, plan.people);
    await child.ready();
    await bot.people.setFaults({ ...FAULTS, seed });
    const each = Math.ceil(plan.messages / plan.people);
    const count = counter();
    const talks = speakers.map((one, at) => talk(bot.people, one, each, seeded(seed * 1000 + at), count));
    const talked = Promise.all(talks);
    talked.catch(() => {}); // handled when it is awaited
    const random = seeded(seed);
    for (let at = 1; at <= kills; at += 1) {
      // Distributed over all texts, and then at any instruction.
      await Promise.race([count.reached(Math.floor((each * plan.people * at) / (kills + 1))), talked]);
      await wait(random.between(0, 120));
      await kill(child);
      report.kills += 1;
      report.errors.push(...readErrors(child));
      const { turns, sends } = countUnfinished(file);
      if (turns > 0) report.hitTurns += 1;
      report.leftSends += sends;
      child = run();
      plan.progress?.(`${count.value()} texts, ${report.kills} of ${kills} kills`);
    }
    await talked;
    await bot.people.setFaults({});
    await lastAnswers(bot.people, speakers, each, report.errors);
    report.errors.push(...readErrors(child));
    return {
      ...report,
      ...verdictOn(await recordOf(bot.people)),
      chats: new Set(speakers.map(({ chat, topic }) => `${chat} ${topic}`)).size,
      droppedSends: await dropped(bot.people),
      pending: await bot.people.pending(),
      seconds: Math.round((performance.now() - start) / 1000),
    };
  } finally {
    await kill(child);
    await telegram.stop();
  }
}

interface Speaker {
  readonly name: string;
  readonly user: number;
  readonly chat: number;
  readonly topic?: number;
  /** The prefix of a text that the bot must receive. */
  readonly address: string;
}

/** Of twenty people eleven have direct chats, two each are in three groups, three in a topic: fifteen chats. */
async function speakersIn({ people, username }: Bot, count: number): Promise<readonly Speaker[]> {
  const forum = await people.openGroup({ title: "Forum", forum: true });
  const speakers: Speaker[] = [];
  const address = `@${username} `;
  let place: Pick<Speaker, "chat" | "topic" | "address"> | undefined;
  for (let at = 0; at < count; at += 1) {
    const user = 1000 + at;
    await people.addUser({ id: user, firstName: `Person ${at}` });
    const turn = at % 20;
    if (turn < 11) place = { chat: await people.openDm(user), address: "" };
    else if (turn < 17 && turn % 2 === 1)
      place = { chat: await people.openGroup({ title: `Group of ${at}` }), address };
    else if (turn === 17)
      place = { chat: forum, topic: await people.openTopic(forum, `Topic of ${at}`), address };
    if (place !== undefined) speakers.push({ ...place, name: `p${at}`, user });
  }
  return speakers;
}

async function say(people: FakeControls, speaker: Speaker, number: number): Promise<string> {
  const { name, chat, topic, user, address } = speaker;
  const mark = `[${name}-${number}]`;
  await people.say(chat, user, `${address}${mark} hello`, topic === undefined ? {} : { topic });
  return mark;
}

/** Some wait for each answer, some continue for a while. */
async function talk(
  people: FakeControls,
  speaker: Speaker,
  texts: number,
  random: Random,
  count: Counter,
): Promise<void> {
  let unanswered = 0;
  for (let number = 1; number <= texts; number += 1) {
    const mark = await say(people, speaker, number);
    if (count.add() % TEXTS_PER_DROP === 0) await people.failNext("sendMessage", { kind: "dropAfter" });
    unanswered += 1;
    if (unanswered < MOST_UNANSWERED && random.next() < 0.4) continue;
    await within(LONGEST_WAIT_MS, people.untilShown(speaker.chat, `You said: ${mark}`));
    unanswered = 0;
    await wait(random.between(0, 100));
  }
}

/** Everyone sends one more text; when that is answered, all earlier texts are settled. */
async function lastAnswers(
  people: FakeControls,
  speakers: readonly Speaker[],
  each: number,
  errors: string[],
): Promise<void> {
  const answered = speakers.map(async (speaker) => {
    const mark = await say(people, speaker, each + 1);
    return people.untilShown(speaker.chat, `You said: ${mark}`);
  });
  const isInTime = await within(LAST_ANSWERS_MS, Promise.all(answered));
  if (!isInTime) errors.push(`not everyone was answered within ${LAST_ANSWERS_MS} ms`);
  else await people.untilIdle();
}

async function recordOf(people: FakeControls): Promise<readonly ChatRecord[]> {
  const records: ChatRecord[] = [];
  for (const chat of await people.chats()) records.push({ chat, messages: await people.messages(chat) });
  return records;
}

async function dropped(people: FakeControls): Promise<number> {
  const sends = [...(await people.calls("sendMessage")), ...(await people.calls("editMessageText"))];
  return sends.filter(({ isDropped, refused }) => isDropped && refused === undefined).length;
}

/** The unfinished work in the database. */
function countUnfinished(file: string): { readonly turns: number; readonly sends: number } {
  return look(file, (db) => {
    const count = (sql: string): number => Number(db.prepare(sql).pluck().get());
    return {
      turns: count("select count(*) from turns where state = 'running'"),
      sends: count("select count(*) from deliveries where state = 'sending'"),
    };
  });
}

/** An unreachable Telegram is no error: the test causes it. */
function readErrors({ lines }: RunningGateway): string[] {
  return (lines as readonly TelegramChildLine[]).flatMap((line) => {
    if ("failed" in line) return [`a process ended by itself: ${line.failed.message}`];
    return "level" in line && line.level === "error" ? [`${line.words}: ${JSON.stringify(line.fields)}`] : [];
  });
}

/** False after a time-out. */
async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const late = wait(ms, false, { signal: over.signal }).catch(() => false);
  const isDone = await Promise.race([work.then(() => true), late]);
  over.abort();
  return isDone;
}

interface Counter {
  /** Returns the new value. */
  add(): number;
  value(): number;
  reached(count: number): Promise<void>;
}

function counter(): Counter {
  let value = 0;
  const waiting = new Set<{ readonly count: number; readonly resolve: () => void }>();
  return {
    add() {
      value += 1;
      for (const one of waiting) if (value >= one.count && waiting.delete(one)) one.resolve();
      return value;
    },
    value: () => value,
    reached: (count) =>
      new Promise((resolve) => {
        if (value >= count) resolve();
        else waiting.add({ count, resolve });
      }),
  };
}
