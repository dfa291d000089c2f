import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectHomeProcesses } from "../../src/apps/connect-home-processes.ts";
import { processIdFrom } from "../../src/core/process.ts";
import {
  buildRouting,
  NO_RESET,
  type Source,
  type Store,
  sqliteStore,
  systemClock,
} from "../../src/index.ts";
import type { StartProcessInput } from "../../src/processes/processes.ts";
import { endKeeper } from "../support/end-keeper.ts";
import { pause } from "../support/keeper-room.ts";
import { type Random, seeded } from "../support/random.ts";
import { endAllIn, keeperOf, kill } from "../tools-kill/leftovers.ts";
import { judgePrinter, type Printed, type Printer, type PrintFindings } from "./judge.ts";

export interface KeeperKillPlan {
  /** Empty. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  readonly printers: number;
  readonly progress?: (text: string) => void;
}

export interface KeeperKillReport extends PrintFindings {
  readonly kills: number;
  /** The evidence, for tests of the judge. */
  readonly printed: readonly { readonly printer: Printer; readonly printed: Printed }[];
}

const SOURCE: Source = { platform: "local", chatType: "dm", chatId: "cli" };
const EVERYONE = { everyone: true } as const;
/** The time limit for all commands to end after the last kill. */
const LONGEST_END_MS = 60_000;

/**
 * Commands with pipes and with terminals print numbered lines, some occasionally, some in bursts, while their keeper is
 * killed at random times, also during its start. At the end every line of every command is checked.
 */
export async function driveKeeperKills(plan: KeeperKillPlan): Promise<KeeperKillReport> {
  const { folder, kills, progress = () => {} } = plan;
  const random = seeded(plan.seed);
  const database = join(folder, "postrider.db");
  const store = await sqliteStore({ file: database, mode: "in-process" });
  const processes = connectHomeProcesses({ folder }, store, systemClock);
  const stop = join(folder, "stop");
  try {
    const place = await openSession(store);
    const printers = Array.from({ length: plan.printers }, (_, n) => printerOf(n, random));
    const ids: string[] = [];
    for (const printer of printers) {
      const input = inputOf(printer, { ...place, folder, stop, random });
      ids.push((await processes.start(input)).id);
    }
    let done = 0;
    while (done < kills) {
      const pid = keeperOf(database);
      if (pid !== undefined && kill(pid)) {
        done += 1;
        progress(`${done} of ${kills} kills`);
      }
      await pause(random.between(5, 500));
    }
    writeFileSync(stop, "");
    const printed = await Promise.all(
      printers.map(async (printer, n) => ({ printer, printed: await readEnd(store, ids[n] ?? "") })),
    );
    const found = printed.map((one) => judgePrinter(one.printer, one.printed));
    return {
      kills: done,
      printed,
      lines: found.reduce((sum, { lines }) => sum + lines, 0),
      lost: found.flatMap(({ lost }) => lost),
      doubled: found.flatMap(({ doubled }) => doubled),
      errors: found.flatMap(({ errors }) => errors),
    };
  } finally {
    await processes.close();
    await store.close();
    await endKeeper(folder);
    await endAllIn(folder);
  }
}

async function openSession(store: Store) {
  const reset = { default: NO_RESET, byType: {}, byPlatform: {} };
  const settings = { zone: "UTC", profile: "main", reset, scope: {}, clock: systemClock };
  const { session, conversation } = await store.conversations.open(buildRouting(SOURCE, settings));
  return { session: session.id, conversation: conversation.number, target: SOURCE };
}

function printerOf(n: number, random: Random): Printer {
  return { name: `p${n}`, pty: n % 2 === 1, exit: random.between(0, 120) };
}

interface Place extends Pick<StartProcessInput, "session" | "conversation" | "target"> {
  readonly folder: string;
  readonly stop: string;
  readonly random: Random;
}

function inputOf(printer: Printer, { folder, stop, random, ...place }: Place): StartProcessInput {
  const burst = random.pick([1, 1, 7, 200]);
  const command = `i=0
while [ ! -e '${stop}' ]; do
  end=$((i + ${burst}))
  while [ $i -lt $end ]; do i=$((i + 1)); echo "${printer.name} line $i"; done
  sleep 0.0${random.between(1, 9)}
done
echo "end $i"; exit ${printer.exit}`;
  return {
    ...place,
    id: processIdFrom(systemClock.random(6)),
    command,
    cwd: folder,
    background: true,
    pty: printer.pty,
    watch: { mode: "off", patterns: [], wakes: false },
    environment: { PATH: process.env.PATH ?? "" },
    secrets: ["a-secret-that-is-nowhere"],
  };
}

async function readEnd(store: Store, id: string): Promise<Printed> {
  const until = performance.now() + LONGEST_END_MS;
  for (;;) {
    const row = await store.processes.getProcess({ asker: EVERYONE, id });
    const hasEnded = row?.status.state === "ended";
    if (hasEnded || performance.now() > until) {
      const output = await store.processes.readProcessOutput({ asker: EVERYONE, id });
      const exit = row?.status.state === "ended" ? row.status.exit : undefined;
      return { ...(output ?? { text: "", from: 0, total: 0 }), exit };
    }
    await pause();
  }
}
