import { isShared, type ScopeSettings, scopeFor } from "../../src/core/identity.ts";
import { OWNER, sqliteStore } from "../../src/index.ts";
import { look } from "../support/database.ts";
import { type Random, seeded } from "../support/random.ts";
import { type Judge, shownIn } from "./drive.ts";
import { type PrivacyVerdict, privacyVerdictOn, STOPPED, type World } from "./privacy-verdict.ts";
import type { ChatPlace, Witnessed } from "./protocol.ts";
import { openStage, type Stage } from "./stage.ts";
import { marksIn } from "./telling-agent.ts";

/** An account of a person in one chat. */
interface Actor {
  readonly account: string;
  readonly place: ChatPlace;
}

const GROUP = "group-g";
const LAST_ANSWERS_MS = 5000;

/** Ann has two accounts. */
const PEOPLE: readonly string[] = ["ann", "annb", "bob", "cat"];

function humanOf(account: string): string {
  return account === "annb" ? "ann" : account;
}

/** Direct chats, and one group with two topics, in which all of them write. */
const ACTORS: readonly Actor[] = PEOPLE.flatMap((account) => [
  { account, place: { chat: `dm-${account}`, type: "dm" as const } },
  { account, place: { chat: GROUP, type: "group" as const } },
  ...(account === "cat"
    ? []
    : ["17", "18"].map((thread) => ({ account, place: { chat: GROUP, type: "group" as const, thread } }))),
]);

const LOOKS = [
  "/search holiday",
  "/search answer",
  "/sessions",
  "/resume",
  "/history",
  "/status",
  "/why",
  "/where",
  "/title",
  "/export",
  "/export jsonl",
  "/insights",
  "/undo",
  "/redo",
];

export interface CrowdReport extends PrivacyVerdict {
  /** Marks that agents got in a session, and that are neither from it nor from its origin. */
  readonly strays: readonly string[];
  /** Errors in the gateway's log. */
  readonly complaints: readonly string[];
  /** How many messages the bot has sent. */
  readonly sent: number;
}

/**
 * All people write at once, over a messenger that delivers late and twice. The seed determines the texts and commands;
 * the order in which they meet depends on the machine.
 */
export async function driveCrowd(
  judges: Judge,
  seed: number,
  steps: number,
  scope: ScopeSettings,
): Promise<CrowdReport> {
  const rules = scopeFor(scope, "fake");
  const world: World = {
    humanOf,
    isShared: ({ type, thread: threadId }) =>
      isShared({ chatType: type, ...(threadId !== undefined && { threadId }) }, rules),
  };
  const chances = { seed, duplicate: 0.15, late: 0.15, send: { delay: 0.2, wait: 0.03 } };
  const stage = await openStage(
    judges,
    { agent: "telling", streaming: true, settings: { scope } },
    { chances },
  );
  const { judge } = stage;
  try {
    await linkAnn(stage.file);
    await stage.start();
    const random = seeded(seed);
    const crowd: Crowd = { judge, world, nextMark: marks(), settled: settledIn(judge) };
    await Promise.all(ACTORS.map((actor) => talk(crowd, actor, seeded(random.between(1, 2 ** 31)), steps)));
    // A stopped answer in a group does not name its person, so some waits may be too short.
    const isAll = (): boolean => privacyVerdictOn(judge.witnessed, world).lost.length === 0;
    await judge.until("the last answers", isAll, LAST_ANSWERS_MS).catch(() => {});
    const sent = (await judge.shown()).length;
    const verdict = privacyVerdictOn(judge.witnessed, world);
    return { ...verdict, strays: straysIn(stage), complaints: stage.complaints(), sent };
  } finally {
    await stage.end();
  }
}

/** Links both accounts of Ann. */
export async function linkAnn(file: string): Promise<void> {
  const store = await sqliteStore({ file, mode: "in-process" });
  for (const userId of PEOPLE.filter((account) => humanOf(account) === "ann"))
    await store.access.linkAccount({ account: { platform: "fake", userId }, person: OWNER, now: Date.now() });
  await store.close();
}

interface Crowd {
  readonly judge: Judge;
  readonly world: World;
  nextMark(account: string): string;
  /** Every mark that was answered, or cancelled with a quote. */
  settled(): ReadonlySet<string>;
}

async function talk(
  { judge, world, nextMark, settled }: Crowd,
  { account, place }: Actor,
  random: Random,
  steps: number,
): Promise<void> {
  /** The marks that are not answered yet. */
  let open: string[] = [];
  /** The number of stopped answers that are accounted for. */
  let forgiven = 0;
  /** A late command may stop the answer to a text that was sent after it. */
  const stopped = (): number =>
    judge.witnessed.filter(
      (event) =>
        event.kind === "sent" &&
        event.chat === place.chat &&
        event.thread === place.thread &&
        STOPPED.test(event.text),
    ).length;
  const say = (words: string) => judge.say(place, account, words);

  async function speak(): Promise<void> {
    const mark = nextMark(account);
    const { messageId } = await say(`${mark} holiday${random.next() < 0.05 ? " pause 500" : ""}`);
    const chance = random.next();
    if (chance < 0.75) open.push(mark);
    // Sometimes it is pending behind another text by then.
    else if (chance < 0.88) {
      if (random.next() < 0.7) await speak();
      await judge.change(place.chat, messageId, `${nextMark(account)} holiday`);
    } else {
      if (random.next() < 0.7) await speak();
      await judge.change(place.chat, messageId);
    }
  }

  /** Waits until everything is answered. An edited text is settled when a later text is answered. */
  async function answered(): Promise<void> {
    for (let isDone = false; !isDone; ) {
      const [mark, stops] = [nextMark(account), stopped()];
      await say(mark);
      open.push(mark);
      await until(() => settled().has(mark) || stopped() > stops);
      isDone = settled().has(mark);
    }
    await until(() => open.length <= stopped() - forgiven);
    forgiven += open.length;
    open = [];
  }

  const until = (fits: () => boolean): Promise<boolean> =>
    judge
      .until("answers", () => {
        open = open.filter((own) => !settled().has(own));
        return fits();
      })
      .catch((error: Error) => {
        throw new Error(`${open.join(" ")} of ${place.chat} ${place.thread ?? ""}: ${error.message}`);
      });

  for (let step = 0; step < steps; step += 1) {
    const chance = random.next();
    if (chance < 0.4) await speak();
    else if (chance < 0.75) await say(random.pick(LOOKS));
    else if (chance < 0.82) await say(`/title ${nextMark(account)} plans`);
    else if (chance < 0.85) await say(`/history ${random.pick(handles(judge.witnessed))}/1`);
    // One person must not leave a shared session: pending texts of the others would be cancelled.
    else if (!world.isShared(place)) {
      await answered();
      const buttons = shownIn(judge.witnessed)
        .filter(({ chat, thread }) => chat === place.chat && thread === place.thread)
        .flatMap(({ messageId, buttons: rows = [] }) => rows.flat().map(({ line }) => ({ messageId, line })));
      const which = random.between(1, 4);
      if (which === 1) await say("/new");
      else if (which === 2) await say("/fork");
      else if (which === 3 || buttons.length === 0)
        await say(`/resume ${random.pick(handles(judge.witnessed))}`);
      else {
        const { messageId, line } = random.pick(buttons);
        await judge.press(place.chat, messageId, account, line);
      }
    }
  }
  await answered();
}

function marks(): Crowd["nextMark"] {
  const counts = new Map<string, number>();
  return (account) => {
    const count = (counts.get(account) ?? 0) + 1;
    counts.set(account, count);
    return `z${account}x${count}`;
  };
}

function settledIn(judge: Judge): Crowd["settled"] {
  const settled = new Set<string>();
  let looked = 0;
  return () => {
    for (; looked < judge.witnessed.length; looked += 1) {
      const event = judge.witnessed[looked];
      if (event?.kind !== "sent" && event?.kind !== "edited") continue;
      if (!/^answer to .*, of course$|will not be:/s.test(event.text)) continue;
      for (const mark of marksIn(event.text)) settled.add(mark);
    }
    return settled;
  };
}

/** The handles of all sessions: everyone may try any of them. */
function handles(witnessed: readonly Witnessed[]): readonly string[] {
  const found = witnessed.flatMap((event) =>
    event.kind === "sent" ? [...event.text.matchAll(/`(?:\/resume )?([a-z0-9]{3,4})[`/]/g)] : [],
  );
  return ["k7f", ...found.map(([, handle = ""]) => handle)];
}

function straysIn({ file, given }: Stage): string[] {
  return look(file, (db) => {
    const said = db.prepare(
      `with recursive lineage(n) as (
         select n from sessions where id = ? union select p.n from lineage l
         join sessions s on s.n = l.n join sessions p on p.id = s.parent)
       select text from messages m join lineage l on m.id between l.n << 24 and (l.n << 24) + 16777215`,
    );
    return given().flatMap(({ session, history }) => {
      const own = new Set(marksIn((said.pluck().all(session) as string[]).join("\n")));
      const read = new Set(marksIn(history.join("\n")));
      return [...read].filter((mark) => !own.has(mark)).map((mark) => `${mark} in ${session}`);
    });
  });
}
