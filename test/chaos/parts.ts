import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { driveEditorKills, type EditorKillReport } from "../acp-kill/drive.ts";
import { driveBackupKills } from "../backup-kill/drive.ts";
import { driveFirstContacts } from "../first-contact/drive.ts";
import { driveFlood, MOST_TIMES_SLOWER, STRANGERS } from "../flood/drive.ts";
import { driveFullDisk } from "../full-disk/drive.ts";
import { driveClockSteps } from "../gateway/clock-steps.ts";
import { driveLoad, type LoadReport } from "../gateway/load.ts";
import { driveUndeliverable } from "../gateway/undeliverable.ts";
import { driveImportKills } from "../import-kill/drive.ts";
import { driveKeeperKills } from "../keeper-kill/drive.ts";
import { driveKills } from "../kill/drive.ts";
import { driveLostFiles } from "../lost-file/drive.ts";
import { driveMembers } from "../postgres-chaos/drive.ts";
import { countKinds } from "../postgres-chaos/moments.ts";
import { driveProcesses } from "../processes/drive.ts";
import { percentile } from "../support/numbers.ts";
import { driveTelegramLoad } from "../telegram-gateway/load.ts";
import { driveTerminalKills } from "../terminal-kill/drive.ts";
import { driveToolKills, type ToolKillReport } from "../tools-kill/drive.ts";
import type { Row } from "./table.ts";

export interface Part {
  /** Its name for `--only`. */
  readonly name: string;
  /** The option that sets its length. */
  readonly option: string;
  readonly usual: number;
  readonly quick: number;
  /** The unit of the option. */
  readonly help: string;
  run(task: Task): Promise<Omit<Row, "part">>;
}

export interface Task {
  /** An empty folder. */
  readonly folder: string;
  readonly seed: number;
  readonly length: number;
  readonly progress: (text: string) => void;
}

/** Kills in one conversation with an editor or an agent; the next conversation starts in a new home. */
const KILLS_PER_TALK = 30;

/** Every part is one of the schedules of the tests, at full length. */
export const PARTS: readonly Part[] = [
  {
    name: "kills",
    option: "kills",
    usual: 500,
    quick: 30,
    help: "how often a process that works through the library is killed",
    async run({ folder, seed, length, progress }) {
      const report = await driveKills({ file: join(folder, "postrider.db"), seed, kills: length, progress });
      const notFull = report.synchronous.filter((level) => level !== 2);
      return {
        ...report,
        errors: [
          ...report.errors,
          ...report.broken,
          ...notFull.map((level) => `synchronous is ${level}, not 2`),
        ],
        notes: [],
      };
    },
  },
  {
    name: "processes",
    option: "seconds",
    usual: 60,
    quick: 5,
    help: "how long four processes write one file",
    async run({ folder, length }) {
      const file = join(folder, "postrider.db");
      const report = await driveProcesses({ file, processes: 4, seconds: length });
      const [p50 = 0, p95 = 0, slowest = 0] = [0.5, 0.95, 1].map((share) => percentile(report.delays, share));
      const times = `${p50.toFixed(0)} ms (p95 ${p95.toFixed(0)}, max ${slowest.toFixed(0)})`;
      const late = slowest > 250 ? [`a write was seen elsewhere only after ${slowest.toFixed(0)} ms`] : [];
      return {
        ...report,
        kills: 0,
        inFlight: 0,
        errors: [...report.errors, ...late],
        notes: [`a write was seen by another process after ${times}`],
      };
    },
  },
  {
    name: "contacts",
    option: "contacts",
    usual: 10_000,
    quick: 500,
    help: "how many people two processes meet for the first time at the same instant",
    async run({ folder, seed, length }) {
      const file = join(folder, "postrider.db");
      const report = await driveFirstContacts({ file, seed, contacts: length, everyMs: 4 });
      const { conversations, sessions } = report;
      const counts = `${conversations} conversations and ${sessions} sessions for ${length} contacts`;
      const isRight = conversations === length && sessions === length;
      return {
        ...report,
        operations: length * 2,
        kills: 0,
        inFlight: 0,
        errors: isRight ? report.errors : [...report.errors, counts],
        notes: [`both processes were at it at once ${report.atOnce} of ${length} times`],
      };
    },
  },
  {
    name: "full-disk",
    option: "fills",
    usual: 200,
    quick: 15,
    help: "how often the disk is full under a working process",
    async run({ folder, seed, length, progress }) {
      const report = await driveFullDisk({
        file: join(folder, "postrider.db"),
        seed,
        fills: length,
        progress,
      });
      const { fills, refused, wentOn, startedFull } = report;
      return {
        ...report,
        errors: [...report.errors, ...report.broken],
        notes: [
          `full ${fills} times, ${refused} operations refused; the same process went on ${wentOn} times; ${startedFull} processes were started on a full disk`,
        ],
      };
    },
  },
  {
    name: "lost-file",
    option: "losses",
    usual: 200,
    quick: 18,
    help: "how often the files of a working process are removed, replaced or moved",
    async run({ folder, seed, length, progress }) {
      const report = await driveLostFiles({ folder, seed, losses: length, progress });
      const kinds = Object.entries(report.kinds).map(([kind, times]) => `${kind} ${times}`);
      return {
        ...report,
        kills: 0,
        errors: [...report.errors, ...report.broken],
        notes: [`the files were taken away ${report.losses} times: ${kinds.join(", ")}`],
      };
    },
  },
  {
    name: "terminal",
    option: "terminal-kills",
    usual: 150,
    quick: 10,
    help: "how often one of two `postrider` on one home is killed while lines are typed into both",
    async run({ folder, seed, length, progress }) {
      const report = await driveTerminalKills({ folder, seed, kills: length, progress });
      return {
        ...report,
        operations: report.lines,
        errors: [...report.errors, ...report.broken],
        notes: [`${report.givenUp.length} lines were given up after two processes had died over them`],
      };
    },
  },
  {
    name: "backups",
    option: "backups",
    usual: 100,
    quick: 6,
    help: "how many copies are made of a home in which 64 sessions write and writers are killed",
    async run({ folder, seed, length, progress }) {
      const report = await driveBackupKills({ folder, seed, backups: length, progress });
      return {
        ...report,
        errors: [...report.errors, ...report.broken],
        notes: [`${report.copies} copies were restored and held against what had been acknowledged`],
      };
    },
  },
  {
    name: "imports",
    option: "import-kills",
    usual: 60,
    quick: 6,
    help: "how often an import is killed on its way",
    async run({ folder, seed, length, progress }) {
      const report = await driveImportKills({ folder, seed, kills: length, sessions: 200, progress });
      return { ...report, errors: [...report.errors, ...report.broken], notes: [] };
    },
  },
  {
    name: "editor",
    option: "editor-kills",
    usual: 300,
    quick: 10,
    help: "how often `postrider acp` is killed under an editor, or under one of two on the same session",
    async run({ folder, seed, length, progress }) {
      const talks: EditorKillReport[] = [];
      for (let left = length; left > 0; left -= KILLS_PER_TALK) {
        const own = join(folder, String(talks.length + 1));
        mkdirSync(own);
        const kills = Math.min(left, KILLS_PER_TALK);
        const tell = (text: string): void => progress(`conversation ${talks.length + 1}: ${text}`);
        const plan = { folder: own, seed: seed + talks.length, kills, turns: Math.ceil((kills * 2) / 3) };
        talks.push(await driveEditorKills({ ...plan, together: 0.25, progress: tell }));
      }
      const sum = (count: (talk: EditorKillReport) => number): number =>
        talks.reduce((all, talk) => all + count(talk), 0);
      const pairs = sum(({ rounds }) => rounds["two editors"] ?? 0);
      return {
        operations: sum(({ prompts }) => prompts),
        kills: sum(({ kills }) => kills),
        inFlight: sum(({ inFlight }) => inFlight),
        lost: talks.flatMap(({ lost }) => lost),
        doubled: talks.flatMap(({ doubled }) => doubled),
        errors: talks.flatMap(({ errors, broken }) => [...errors, ...broken]),
        notes: [
          `${sum(({ answered }) => answered)} prompts were answered in ${talks.length} conversations; two editors had the session open in ${pairs} rounds`,
        ],
      };
    },
  },
  {
    name: "gateway",
    option: "gateway-kills",
    usual: 300,
    quick: 12,
    help: "how often a gateway is killed that talks with fifty people over a messenger that makes difficulties",
    async run({ folder, seed, length, progress }) {
      const halves: LoadReport[] = [];
      for (const outbound of ["unknowable", "idempotent"] as const) {
        const own = join(folder, outbound);
        mkdirSync(own);
        const kills = Math.ceil(length / 2);
        const tell = (text: string): void => progress(`sending is ${outbound}: ${text}`);
        halves.push(await driveLoad({ folder: own, seed, kills, people: 50, outbound, progress: tell }));
      }
      const sum = (count: (half: LoadReport) => number): number =>
        halves.reduce((all, half) => all + count(half), 0);
      const marked = halves.map(({ repeatedWithMark }) => repeatedWithMark.length);
      return {
        operations: sum(({ said }) => said),
        kills: sum(({ kills }) => kills),
        inFlight: sum(({ hitTurns }) => hitTurns),
        lost: halves.flatMap(({ lost }) => lost),
        doubled: halves.flatMap(({ repeated, doneTwice }) => [...repeated, ...doneTwice]),
        errors: [
          ...halves.flatMap(({ errors, crossed }) => [
            ...errors,
            ...crossed.map((line) => `crossed: ${line}`),
          ]),
          ...halves.flatMap(({ conflicts }) => (conflicts > 0 ? [`${conflicts} conflicts`] : [])),
          ...halves.flatMap(({ mostRepeatedInOnePlace: most, kills }) =>
            most > kills ? [`one place has seen ${most} repetitions in ${kills} kills`] : [],
          ),
          ...(halves.at(1)?.repeatedWithMark ?? []).map(
            (line) => `repeated although it can be known: ${line}`,
          ),
        ],
        notes: [
          `${sum(({ told }) => told.length)} texts were given up after two kills or in the middle of an errand, and their people told`,
          `repeated with a mark: ${marked[0]} where sending is unknowable, in one place at most ${halves[0]?.mostRepeatedInOnePlace} (${halves[0]?.leftSends} were on their way in a kill, ${halves[0]?.cuts} connections cut), ${marked[1]} where it is idempotent`,
        ],
      };
    },
  },
  {
    name: "clock",
    option: "clock-steps",
    usual: 240,
    quick: 20,
    help: "how often the system clock of a gateway is set back or ahead, by minutes or days, while people talk to it",
    async run({ folder, seed, length, progress }) {
      const report = await driveClockSteps({ folder, seed, steps: length, progress });
      const { crossed, repeated, repeatedWithMark, doneTwice, late } = report;
      return {
        operations: report.said,
        kills: report.kills,
        inFlight: report.hitTurns,
        lost: report.lost,
        doubled: [...repeated, ...repeatedWithMark, ...doneTwice],
        errors: [...report.errors, ...crossed.map((line) => `crossed: ${line}`), ...late],
        notes: [
          `the clock was set ${report.steps} times; the slowest answer took ${(report.slowestMs / 1000).toFixed(0)} s of real time, ${report.allowed} questions were answered`,
        ],
      };
    },
  },
  {
    name: "postgres",
    option: "postgres-moments",
    usual: 100,
    quick: 8,
    help: "how often one of three gateways on one PostgreSQL is killed, stopped, cut off or set to another time",
    async run({ folder, seed, length, progress }) {
      const report = await driveMembers({ folder, seed, moments: length, people: 200, progress });
      const { crossed, repeatedWithMark, lateSends, staleWrites } = report;
      return {
        operations: report.said,
        kills: report.kills,
        inFlight: report.inFlight,
        lost: report.lost,
        doubled: [...report.repeated, ...report.doneTwice],
        errors: [...report.errors, ...crossed.map((line) => `crossed: ${line}`), ...staleWrites],
        notes: [
          `moments: ${countKinds(report.moments)}`,
          `${report.told} texts were given up after two crashes or in the middle of an errand, and their people told; ${report.refused} ends of turns that another gateway had taken over were refused; the gateways connected ${report.connections} times`,
          `repeated with a mark: ${repeatedWithMark.length}; sent by a stopped gateway when it went on: ${lateSends.length}`,
        ],
      };
    },
  },
  {
    name: "undeliverable",
    option: "undeliverable-kills",
    usual: 30,
    quick: 3,
    help: "how often a gateway is killed on a messenger that answers some messages with an error for ever",
    async run({ folder, seed, length, progress }) {
      const report = await driveUndeliverable({ folder, seed, kills: length, progress });
      const { crossed, repeated, repeatedWithMark, doneTwice, disordered, toldWrong } = report;
      return {
        operations: report.said,
        kills: report.kills,
        inFlight: report.hitTurns,
        lost: report.lost,
        doubled: [...repeated, ...repeatedWithMark, ...doneTwice],
        errors: [
          ...report.errors,
          ...crossed.map((line) => `crossed: ${line}`),
          ...disordered.map((line) => `out of order: ${line}`),
          ...toldWrong,
        ],
        notes: [
          `${report.stuck} answers could not be delivered, and ${report.notices} notices stand in their place`,
        ],
      };
    },
  },
  {
    name: "tools",
    option: "tool-kills",
    usual: 150,
    quick: 8,
    help: "how often a gateway is killed whose agent works with tools for two people, and now and then its keeper",
    async run({ folder, seed, length, progress }) {
      const talks: ToolKillReport[] = [];
      for (let left = length; left > 0; left -= KILLS_PER_TALK) {
        const own = join(folder, String(talks.length + 1));
        mkdirSync(own);
        const kills = Math.min(left, KILLS_PER_TALK);
        const tell = (text: string): void => progress(`conversation ${talks.length + 1}: ${text}`);
        const plan = { folder: own, seed: seed + talks.length, kills, keeperKills: Math.ceil(kills / 8) };
        talks.push(await driveToolKills({ ...plan, turns: kills, progress: tell }));
      }
      const sum = (count: (talk: ToolKillReport) => number): number =>
        talks.reduce((all, talk) => all + count(talk), 0);
      return {
        operations: sum(({ evidence }) => evidence.effects.length),
        kills: sum(({ kills, keeperKills }) => kills + keeperKills),
        inFlight: sum(({ inFlight }) => inFlight),
        lost: talks.flatMap(({ lost }) => lost),
        doubled: talks.flatMap(({ doubled }) => doubled),
        errors: talks.flatMap(({ errors, broken, crossed }) => [
          ...errors,
          ...broken,
          ...crossed.map((line) => `crossed: ${line}`),
        ]),
        notes: [
          `of ${sum(({ asked }) => asked)} errands, ${sum(({ answered }) => answered)} were answered and ${sum(({ told }) => told)} told of; the keeper was killed ${sum(({ keeperKills }) => keeperKills)} times`,
        ],
      };
    },
  },
  {
    name: "keeper",
    option: "keeper-kills",
    usual: 150,
    quick: 8,
    help: "how often the keeper of processes is killed while 16 commands print, with pipes and with terminals",
    async run({ folder, seed, length, progress }) {
      const report = await driveKeeperKills({ folder, seed, kills: length, printers: 16, progress });
      return { ...report, operations: report.lines, inFlight: report.kills, notes: [] };
    },
  },
  {
    name: "telegram",
    option: "telegram-texts",
    usual: 5000,
    quick: 200,
    help: "how much forty people say to a gateway on Telegram, which is killed once in a hundred texts",
    async run({ folder, seed, length, progress }) {
      const kills = Math.ceil(length / 100);
      const report = await driveTelegramLoad({ folder, seed, messages: length, people: 40, kills, progress });
      const { crossed, disordered, repeatedWithMark, leftSends, droppedSends } = report;
      return {
        operations: report.said,
        kills,
        inFlight: report.hitTurns,
        lost: report.lost,
        doubled: report.repeated,
        errors: [
          ...report.errors,
          ...crossed.map((line) => `crossed: ${line}`),
          ...disordered.map((line) => `out of order: ${line}`),
        ],
        notes: [
          `${report.told} texts were given up after two kills, and their people told`,
          `repeated with a mark: ${repeatedWithMark.length} (${leftSends} were on their way in a kill, ${droppedSends} were not confirmed)`,
        ],
      };
    },
  },
  {
    name: "flood",
    option: "flood-kills",
    usual: 20,
    quick: 2,
    help: "how often a gateway on Telegram is killed while strangers and members flood it and honest people talk",
    async run({ folder, seed, length, progress }) {
      const report = await driveFlood({ folder, seed, kills: length, progress });
      const { crossed, disordered, repeatedWithMark, leftSends, strangerRows, quietMs, floodMs } = report;
      const slower = floodMs / quietMs;
      return {
        operations: report.said + report.flood,
        kills: report.kills,
        inFlight: leftSends,
        lost: report.lost,
        doubled: report.repeated,
        errors: [
          ...report.errors,
          ...crossed.map((line) => `crossed: ${line}`),
          ...disordered.map((line) => `out of order: ${line}`),
          ...(slower > MOST_TIMES_SLOWER ? [`honest people waited ${slower.toFixed(0)} times as long`] : []),
          ...(strangerRows > STRANGERS ? [`strangers have left ${strangerRows} rows`] : []),
        ],
        notes: [
          `${report.flood} messages of floods; honest people waited ${quietMs.toFixed(0)} ms without one and ${floodMs.toFixed(0)} ms in one (medians)`,
          `repeated with a mark: ${repeatedWithMark.length} (${leftSends} were on their way in a kill)`,
        ],
      };
    },
  },
];
