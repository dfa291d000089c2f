import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import Database from "better-sqlite3";
import type { SourceInput } from "../../src/index.ts";
import { type Child, startChild } from "../support/child.ts";
import { look } from "../support/database.ts";
import { instant } from "../support/numbers.ts";
import { type Random, seeded } from "../support/random.ts";
import type { Answer, Contact, Mode, Order } from "./child.ts";

export interface ContactReport {
  readonly contacts: number;
  /** Contacts where each process had started before the other got its result. */
  readonly atOnce: number;
  readonly conversations: number;
  readonly sessions: number;
  readonly lost: string[];
  readonly doubled: string[];
  readonly errors: string[];
}

/** The share of contacts for which the write lock makes sure that both processes are busy with it at once. */
const LOCKED_SHARE = 1 / 4;

/**
 * Two processes handle the first contact of each of many people. They meet most people at the same instant, so that any
 * two steps can meet; on a busy machine one process may be done before the other runs. They meet the rest while this
 * process holds the write lock, until both have asked.
 */
export async function driveFirstContacts(plan: {
  readonly file: string;
  readonly seed: number;
  readonly contacts: number;
  readonly everyMs: number;
}): Promise<ContactReport> {
  const random = seeded(plan.seed);
  const sources = Array.from({ length: plan.contacts }, (_, index) => sourceFor(index, random));
  const children = [start(), start()] as const;
  try {
    const ask = (order: Order): void => {
      for (const child of children) child.tell(order);
    };
    ask({ do: "open store", file: plan.file });
    await Promise.all(children.map((child) => child.heard<Answer>(({ said }) => said === "store open")));
    const timed = sources.slice(0, Math.floor(plan.contacts * (1 - LOCKED_SHARE)));
    ask({ do: "meet", sources: timed, from: instant() + 50, everyMs: plan.everyMs });
    const met = await Promise.all(children.map(readMet));
    const metWhileLocked = await meetWhileLocked(plan.file, children, sources.slice(timed.length));
    const [left = [], right = []] = met.map((contacts, at) => [...contacts, ...(metWhileLocked[at] ?? [])]);
    for (const { process } of children) process.stdin?.end();
    await Promise.all(children.map(({ ended }) => ended));
    return compare(plan.file, left, right, plan.contacts);
  } finally {
    for (const { process } of children) process.kill("SIGKILL");
  }
}

async function readMet(child: Child): Promise<readonly Contact[]> {
  const answer = await child.heard<Answer>(({ said }) => said === "met");
  return answer.said === "met" ? answer.contacts : [];
}

/** The contacts of each process. Neither can finish one before the other has started it. */
async function meetWhileLocked(
  file: string,
  children: readonly Child[],
  sources: readonly SourceInput[],
): Promise<readonly (readonly Contact[])[]> {
  const contacts: Contact[][] = children.map(() => []);
  const lock = new Database(file, { fileMustExist: true, timeout: 30_000 });
  try {
    for (const [index, source] of sources.entries()) {
      const hear = (said: "asked" | "met while locked"): Promise<readonly Answer[]> =>
        Promise.all(
          children.map((child) =>
            child.heard<Answer>((answer) => answer.said === said && answer.index === index),
          ),
        );
      lock.exec("begin immediate");
      for (const child of children) child.tell({ do: "meet while locked", source, index } satisfies Order);
      await hear("asked");
      lock.exec("rollback");
      for (const [at, answer] of (await hear("met while locked")).entries())
        if (answer.said === "met while locked") contacts[at]?.push(answer.contact);
    }
  } finally {
    lock.close();
  }
  return contacts;
}

/** Direct chats, groups with a conversation per person, and shared threads. */
function sourceFor(index: number, random: Random): SourceInput {
  const id = `${index}`;
  return random.pick<SourceInput>([
    { platform: "telegram", chatId: id, userId: id, userName: "Ann" },
    { platform: "signal", chatId: id, userId: id, userIdAlt: `uuid-${id}` },
    { platform: "discord", chatId: `group-${id}`, chatType: "group", userId: `member-${id}` },
    { platform: "slack", chatId: "one-channel", chatType: "channel", threadId: id, userId: `member-${id}` },
  ]);
}

function compare(
  file: string,
  left: readonly Contact[],
  right: readonly Contact[],
  contacts: number,
): ContactReport {
  const lost: string[] = [];
  const doubled: string[] = [];
  const errors: string[] = [];
  let atOnce = 0;
  for (let index = 0; index < contacts; index += 1) {
    const [one, other] = [left[index], right[index]];
    if (one === undefined || other === undefined || one.error !== undefined || other.error !== undefined) {
      errors.push(`contact ${index}: ${one?.error} / ${other?.error}`);
      continue;
    }
    if (one.began < other.ended && other.began < one.ended) atOnce += 1;
    if (one.session !== other.session || one.conversation !== other.conversation) {
      doubled.push(`contact ${index}: ${one.session} and ${other.session}`);
    }
    if (one.created === other.created)
      doubled.push(`contact ${index}: ${one.created ? "both" : "neither"} made it`);
  }
  const count = (sql: string): number => look(file, (db) => Number(db.prepare(sql).pluck().get()));
  const conversations = count("select count(*) from conversations");
  const sessions = count("select count(*) from sessions");
  const stored = new Set(look(file, (db) => db.prepare("select id from sessions").pluck().all()));
  for (const { session } of left) {
    if (session !== undefined && !stored.has(session)) lost.push(`session ${session}`);
  }
  return { contacts, atOnce, conversations, sessions, lost, doubled, errors };
}

/** Two processes create the same new database at the same instant, repeatedly. Returns the errors. */
export async function driveCreations(folder: string, times: number): Promise<string[]> {
  const problems: string[] = [];
  const children = [start(), start()] as const;
  try {
    await Promise.all(children.map((child) => child.heard<Answer>(({ said }) => said === "ready")));
    for (let time = 0; time < times; time += 1) {
      const file = join(folder, `new-${time}.db`);
      // Without threads to start, both are closer together; with them, it is what programs do.
      const mode: Mode = time % 4 === 3 ? "workers" : "in-process";
      const at = instant() + 10;
      const made = await Promise.all(
        children.map((child, index) => {
          const session = `session-${time}-${index}`;
          child.tell({ do: "make", file, session, at, mode } satisfies Order);
          return child.heard<Answer>((answer) => answer.said === "made" && answer.session === session);
        }),
      );
      for (const answer of made) {
        if (answer.said === "made" && answer.error !== undefined) problems.push(`${file}: ${answer.error}`);
      }
      const ids = look(file, (db) => db.prepare("select id from sessions order by id").pluck().all());
      if (ids.join() !== `session-${time}-0,session-${time}-1`) problems.push(`${file} holds ${ids.join()}`);
      const beside = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}.`));
      if (beside.length > 0) problems.push(`${file} left ${beside.join()}`);
    }
  } finally {
    for (const { process } of children) process.kill("SIGKILL");
  }
  return problems;
}

function start(): Child {
  return startChild(new URL("./child.ts", import.meta.url), []);
}
