import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Judge, startJudge } from "../gateway/drive.ts";
import { chances } from "../gateway/load.ts";
import { hearing, lastAnswers, people, talk } from "../gateway/talk.ts";
import { startServer } from "../support/postgres-server.ts";
import { type Random, seeded } from "../support/random.ts";
import { makeMoment } from "./make-moment.ts";
import type { MessengerAccess } from "./member.ts";
import { type Members, startMembers } from "./members.ts";
import { type MomentKind, planMoments } from "./moments.ts";
import { judgeMembers, type MembersVerdict } from "./verdict.ts";

export interface MembersPlan {
  /** An empty folder, for the events and the logs. */
  readonly folder: string;
  readonly seed: number;
  readonly moments: number;
  readonly people: number;
  readonly progress?: (text: string) => void;
}

export interface MembersReport extends MembersVerdict {
  readonly seed: number;
  readonly moments: readonly MomentKind[];
  readonly kills: number;
  /** Kills, stops and restarts of the database while a turn was running. */
  readonly inFlight: number;
  /** How often a gateway connected to a messenger. */
  readonly connections: number;
  readonly errors: readonly string[];
}

/** The three ways in which a gateway may know what it has sent; one messenger for each. */
const WAYS: readonly MessengerAccess["outbound"][] = ["idempotent", "can_be_looked_up", "unknowable"];
const SCHEMA = "chaos";
/** People think for a while, so that the gateways are busy and not overloaded. */
const PAUSE_MS = 8000;
/** At most this many gateways are in difficulties at the same time, so that one is left. */
const AT_ONCE = 2;

/**
 * Three gateways on one database serve people on three messengers, and fail in all ways that the plan lists. The seed
 * determines the texts, the moments and their order; what they hit depends on the machine.
 */
export async function driveMembers(plan: MembersPlan): Promise<MembersReport> {
  const { folder, seed, moments } = plan;
  const random = seeded(seed);
  const serverFolder = mkdtempSync(join(tmpdir(), "postrider-chaos-server-"));
  const server = await startServer({ folder: serverFolder, owner: process.pid, isDurable: true });
  const judges = await openJudges(seed);
  const made: MomentKind[] = [];
  const over = new AbortController();
  const done = new AbortController();
  let members: Members | undefined;
  try {
    members = await startMembers({
      server,
      schema: SCHEMA,
      messengers: judges.map(({ access }) => access),
      effects: judges[0]?.judge.effects ?? { url: "", headers: {} },
    });
    const talks = judges.map(({ judge }, at) =>
      talkTo(
        judge,
        { seed: seed * 10 + at, people: share(plan.people, at), prefix: "abc"[at] ?? "" },
        over,
        done,
      ),
    );
    await makeMoments(members, planMoments(moments, random), random, (kind) => {
      made.push(kind);
      plan.progress?.(`${made.length} of ${moments} moments`);
    });
    over.abort();
    members.calm();
    for (const { judge } of judges) await judge.chances();
    await Promise.all(talks.map((end) => end(members?.errors ?? [])));
    done.abort();
  } finally {
    over.abort();
    done.abort();
    await members?.end();
    await judges[0]?.judge.stop();
    await server.stop("immediate").catch(() => {});
    rmSync(serverFolder, { recursive: true, force: true });
  }
  const messengers = judges.map(({ judge, access: { name, outbound } }) => ({
    name,
    outbound,
    witnessed: judge.witnessed,
  }));
  const { turns, interruptedSends, kills, inFlight, connections, errors, logs } = members;
  writeFileSync(join(folder, "events.json"), JSON.stringify({ messengers, turns, interruptedSends }));
  for (const [name, lines] of logs) writeFileSync(join(folder, `${name}.log`), lines.join("\n"));
  const verdict = judgeMembers({ messengers, turns, interruptedSends });
  return { ...verdict, seed, moments: made, kills, inFlight, connections, errors };
}

function share(all: number, at: number): number {
  return Math.floor(all / WAYS.length) + (at < all % WAYS.length ? 1 : 0);
}

async function openJudges(seed: number): Promise<{ judge: Judge; access: MessengerAccess }[]> {
  let first: Judge | undefined;
  const opened: { judge: Judge; access: MessengerAccess }[] = [];
  for (const [at, outbound] of WAYS.entries()) {
    const options = { idempotent: outbound === "idempotent", chances: chances(seed + at) };
    const judge: Judge = first === undefined ? await startJudge(options) : await first.another(options);
    first ??= judge;
    const { url, token } = judge;
    opened.push({
      judge,
      access: { name: `messenger-${outbound.replaceAll("_", "-")}`, url, token, outbound },
    });
  }
  return opened;
}

/** Lets people write until `over`. The result waits for their last answers. */
function talkTo(
  judge: Judge,
  { seed, people: count, prefix }: { seed: number; people: number; prefix: string },
  over: AbortController,
  done: AbortController,
): (errors: string[]) => Promise<void> {
  const heard = hearing(over.signal);
  const following = judge.follow((event) => heard.take(event), done.signal);
  const talked = Promise.all(
    people(count, prefix).map((person, at) =>
      talk({ judge, heard, pauseMs: PAUSE_MS }, person, seeded(seed * 1000 + at), over.signal),
    ),
  );
  following.catch(() => over.abort());
  talked.catch(() => over.abort());
  return async (errors) => {
    await lastAnswers(judge, await talked, errors);
    done.abort();
    await following;
  };
}

async function makeMoments(
  members: Members,
  kinds: readonly MomentKind[],
  random: Random,
  onMade: (kind: MomentKind) => void,
): Promise<void> {
  const running = new Set<Promise<void>>();
  for (const kind of kinds) {
    while (running.size >= AT_ONCE) await Promise.race(running);
    const moment = makeMoment(members, kind, seeded(random.between(1, 2 ** 31)))
      .then(
        () => onMade(kind),
        (error: unknown) => void members.errors.push(`${kind}: ${(error as Error).message}`),
      )
      .finally(() => running.delete(moment));
    running.add(moment);
    await wait(random.between(100, 900));
  }
  await Promise.all(running);
}
