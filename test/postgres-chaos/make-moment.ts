import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../support/random.ts";
import type { HoldPoint, MemberLine } from "./member.ts";
import type { Member, Members } from "./members.ts";
import type { MomentKind } from "./moments.ts";
import { DEAD_MS } from "./short-times.ts";

/** The steps at which a process kills itself. */
const STEPS = [
  "accept:before",
  "accept:after",
  "agent:before",
  "agent:during",
  "agent:after",
  "tool:before",
  "tool:acted",
  "finish:before",
  "finish:after",
  "beginDelivery:after",
  "send:before",
  "send:after",
  "settle:before",
  "settle:after",
  "claim:after",
  "acquireLease:after",
];

const MINUTE = 60_000;
/** How often a moment hits a gateway with connections, which has more to lose. */
const CONNECTED_SHARE = 0.8;
/** How long a gateway without work is waited for. */
const TURN_MS = 1500;
const HOLD_ROUNDS = 20;
const COMMIT_CUTS = ["before", "before, unnoticed", "after", "meanwhile"] as const;

/** Makes one moment happen, and resolves when it is over and the gateway works again. */
export async function makeMoment(members: Members, kind: MomentKind, random: Random): Promise<void> {
  if (kind === "database restart") return restartDatabase(members, random);
  if (kind === "stop before finish")
    return stopAt(members, random.pick<HoldPoint>(["agent", "finish"]), random);
  if (kind === "stop before send") return stopAt(members, "send", random);
  const member = await takeMember(members, random);
  try {
    await MAKE[kind](member, random);
  } finally {
    member.isBusy = false;
  }
}

/** A gateway that no other moment uses. */
async function takeMember({ all }: Members, random: Random): Promise<Member> {
  for (;;) {
    const free = all.filter(({ isBusy }) => !isBusy);
    const connected = free.filter((member) => member.countConnections() > 0);
    if (free.length > 0) {
      const member = random.pick(connected.length > 0 && random.next() < CONNECTED_SHARE ? connected : free);
      member.isBusy = true;
      return member;
    }
    await wait(50);
  }
}

type Make = (member: Member, random: Random) => Promise<void>;

const MAKE: Readonly<
  Record<Exclude<MomentKind, "database restart" | "stop before finish" | "stop before send">, Make>
> = {
  kill: (member, random) => member.kill({ ms: 0, downMs: random.between(0, 1500) }),
  async "kill at a step"(member, random) {
    member.tell({ killAt: `${random.pick(STEPS)}:${random.between(1, 5)}` });
    await member.kill({ ms: 1500, downMs: random.between(0, 1500) });
  },
  stop: (member, random) => member.stop(() => wait(DEAD_MS + random.between(500, 3000))),
  async cut({ proxy }, random) {
    for (let left = random.between(1, 3); left > 0; left -= 1) {
      proxy.cut();
      await wait(random.between(50, 400));
    }
  },
  async "cut at a commit"({ proxy }, random) {
    for (let left = random.between(1, 4); left > 0; left -= 1) {
      proxy.cutAtCommit(random.pick(COMMIT_CUTS));
      await wait(random.between(100, 500));
    }
  },
  async refuse({ proxy }, random) {
    proxy.refuse();
    proxy.cut();
    await wait(random.between(200, DEAD_MS * 1.3));
    await proxy.accept();
  },
  async delay({ proxy }, random) {
    proxy.delay(random.between(5, 200));
    await wait(random.between(500, 3000));
    proxy.delay(0);
  },
  async "half-open"({ proxy }, random) {
    proxy.freeze();
    await wait(random.between(500, DEAD_MS));
  },
  async "clock step"(member, random) {
    const most = random.pick([1, 20, 300]) * MINUTE;
    member.tell({ aheadMs: random.between(-most, most) });
    await wait(random.between(500, 3000));
    if (random.next() < 0.5) member.tell({ aheadMs: 0 });
  },
};

async function restartDatabase(members: Members, random: Random): Promise<void> {
  members.hit(members.all);
  await members.server.stop(random.pick(["fast", "immediate"]));
  await wait(random.between(0, 2000));
  await members.server.restart();
  await wait(500);
}

/** Holds a turn or a delivery at this point, stops its gateway, and lets both go on when another gateway has the work. */
async function stopAt(members: Members, point: HoldPoint, random: Random): Promise<void> {
  for (let round = 0; round < HOLD_ROUNDS; round += 1) {
    const member = await takeMember(members, random);
    try {
      const id = random.between(1, 2 ** 31);
      const held = member.hears((line) => "held" in line && line.held === id, TURN_MS);
      member.tell({ hold: point, id });
      const line = await held;
      if (line === undefined || !("held" in line)) {
        member.tell({ release: true });
        continue;
      }
      await member.stop(async () => {
        const isTakenOver = line.turn === undefined ? undefined : awaitTakeOver(members, member, line.turn);
        await wait(DEAD_MS + 1000);
        await isTakenOver;
        await wait(random.between(0, 500));
        member.tell({ release: true });
      });
      return;
    } finally {
      member.isBusy = false;
    }
  }
  throw new Error("nothing reached this point");
}

/** Another gateway starts the turn, or has no time for it. */
async function awaitTakeOver({ all }: Members, from: Member, turn: number): Promise<void> {
  const others = all.filter((other) => other !== from);
  const isStart = (line: MemberLine): boolean =>
    "state" in line && line.state === "started" && line.turn === turn;
  await Promise.race(others.map((other) => other.hears(isStart, DEAD_MS * 3)));
}
