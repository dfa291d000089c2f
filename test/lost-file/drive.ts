import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, type Findings } from "../kill/checker.ts";
import { add } from "../kill/drive.ts";
import { type Line, type Operation, record, type Told } from "../kill/journal.ts";
import { type Child, startChild } from "../support/child.ts";
import { seeded } from "../support/random.ts";

export interface LostFilePlan {
  readonly folder: string;
  readonly seed: number;
  /** How often the files of a working process are removed. */
  readonly losses: number;
  readonly progress?: (text: string) => void;
}

export interface LostFileReport extends Findings {
  readonly losses: number;
  /** Losses during at least one unacknowledged operation. */
  readonly inFlight: number;
  readonly operations: number;
  /** The number of losses of each kind. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly errors: string[];
}

const LOOPS = 8;
const DATABASE = "postrider.db";
const LOST_EXIT = 6;
/** Operations in progress may still be answered; a process that prints more than this has not noticed the loss. */
const MOST_LINES_AFTER = 500;

/** All changes of open files by people and their tools. */
const LOSSES: Readonly<Record<string, (home: string, aside: string) => void>> = {
  "database removed": (home) => rmSync(join(home, DATABASE)),
  "database moved": (home, aside) => renameSync(join(home, DATABASE), join(aside, DATABASE)),
  "database replaced by a copy": (home, aside) => {
    copyFileSync(join(home, DATABASE), join(aside, DATABASE));
    renameSync(join(aside, DATABASE), join(home, DATABASE));
  },
  "log removed": (home) => rmSync(join(home, `${DATABASE}-wal`)),
  "log replaced": (home, aside) => {
    writeFileSync(join(aside, "log"), "");
    renameSync(join(aside, "log"), join(home, `${DATABASE}-wal`));
  },
  "shared memory removed": (home) => rmSync(join(home, `${DATABASE}-shm`)),
  "home removed": (home) => rmSync(home, { recursive: true, force: true }),
  "home moved": (home, aside) => renameSync(home, join(aside, "moved")),
  "home moved and made again": (home, aside) => {
    renameSync(home, join(aside, "moved"));
    mkdirSync(home);
  },
};

/**
 * Lets a process work, removes its files, and compares the file that it finally names with all acknowledged
 * operations. The next process continues with that file, as a person would.
 */
export async function driveLostFiles({
  folder,
  seed,
  losses,
  progress,
}: LostFilePlan): Promise<LostFileReport> {
  const random = seeded(seed);
  const journal: Operation[] = [];
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  const report = { losses: 0, inFlight: 0, errors: [] as string[], kinds: {} as Record<string, number> };
  const names = Object.keys(LOSSES);
  let child: Child | undefined;
  let lines = 0;
  let home = join(folder, "0", "home");
  mkdirSync(home, { recursive: true });
  try {
    for (let round = 0; round < losses; round += 1) {
      const aside = join(folder, String(round), "aside");
      mkdirSync(aside, { recursive: true });
      const mode = Math.floor(round / names.length) % 2 === 1 ? "in-process" : "workers";
      const args = [join(home, DATABASE), mode, String(round), String(seed + round), String(LOOPS)];
      child = startChild(new URL("../kill/child.ts", import.meta.url), args);
      child.tell({ do: "go", keeps: true } satisfies Told);
      let answers = random.between(1, 150);
      await child.heard<Line>((line) => line.say === "done" && --answers <= 0);
      await new Promise((resolve) => setTimeout(resolve, random.between(0, 10)));
      const kind = names[round % names.length] ?? "";
      let more = child.lines.length + MOST_LINES_AFTER;
      LOSSES[kind]?.(home, aside);
      const wentOn = child.heard<Line>(() => --more <= 0);
      if (
        await Promise.race([
          child.ended.then(() => false),
          wentOn.then(
            () => true,
            () => false,
          ),
        ])
      ) {
        report.errors.push(`${kind}: the process goes on as if nothing had happened`);
        break;
      }
      const { code, signal } = await child.ended;
      const said = child.lines as readonly Line[];
      const { open } = record(journal, said, lines);
      lines += said.length;
      report.losses += 1;
      report.inFlight += open > 0 ? 1 : 0;
      report.kinds[kind] = (report.kinds[kind] ?? 0) + 1;
      const lost = said.find((line) => line.say === "lost");
      const whole = lost?.rescued ?? lost?.movedTo;
      if (code !== LOST_EXIT || whole === undefined || !existsSync(whole)) {
        report.errors.push(`${kind}: ended with ${code ?? signal}, saved in ${whole}: ${lost?.error}`);
        break;
      }
      add(findings, check(whole, journal));
      home = join(folder, String(round + 1), "home");
      mkdirSync(home, { recursive: true });
      for (const suffix of ["", "-wal"])
        if (existsSync(whole + suffix)) copyFileSync(whole + suffix, join(home, DATABASE) + suffix);
      for (const old of readdirSync(join(folder, String(round))))
        rmSync(join(folder, String(round), old), { recursive: true, force: true });
      progress?.(`${report.losses} of ${losses} losses, ${journal.length} operations`);
    }
  } finally {
    child?.process.kill("SIGKILL");
  }
  const operations = journal.filter(({ result }) => result !== undefined).length;
  return { ...report, ...findings, operations };
}
