import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { check, checkIndex, type Findings } from "../kill/checker.ts";
import { add } from "../kill/drive.ts";
import { type Line, type Operation, record, type Told } from "../kill/journal.ts";
import { type Child, startChild } from "../support/child.ts";
import { look } from "../support/database.ts";
import { type Random, seeded } from "../support/random.ts";

export interface FullDiskPlan {
  readonly file: string;
  readonly seed: number;
  /** How often the disk gets full. */
  readonly fills: number;
  readonly progress?: (text: string) => void;
}

export interface FullDiskReport extends Findings {
  readonly fills: number;
  readonly kills: number;
  /** Kills during at least one unacknowledged operation. */
  readonly inFlight: number;
  /** Processes that were started on a full disk. */
  readonly startedFull: number;
  /** How often the same process continued when there was space again. */
  readonly wentOn: number;
  /** Acknowledged operations. */
  readonly operations: number;
  /** Operations that were refused with `disk_full`. */
  readonly refused: number;
  readonly errors: string[];
  readonly journal: readonly Operation[];
}

const LOOPS = 8;
const CHECK_EVERY = 10;
const PAGE = 4096;
/** Less than opening a database needs after a kill, when the shared memory of its log is created again. */
const LEAST = PAGE;
/** Half of the write-ahead log that SQLite allows before a checkpoint. */
const MOST = 8 * 1024 * 1024;
const UNLIMITED = "unlimited";
/** Reaching a limit takes milliseconds; a process that does not is stuck. */
const PATIENCE_MS = 30_000;

/** Only Linux can change the limit of a running process; other systems use SQLite's own limit. */
const hasFileLimits = process.platform === "linux";

/**
 * Runs processes under limits of random sizes that are reached, lowered and raised again; some processes are killed
 * without space, some are started then. For SQLite, a limit on the file size is a full disk. The seed determines the
 * operations, the distance of each limit, and the action when it is reached.
 */
export async function driveFullDisk({ file, seed, fills, progress }: FullDiskPlan): Promise<FullDiskReport> {
  const random = seeded(seed);
  const journal: Operation[] = [];
  const report = { fills: 0, kills: 0, inFlight: 0, startedFull: 0, wentOn: 0, refused: 0 };
  const errors: string[] = [];
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  const children: Child[] = [];
  let lines = 0;
  const start = (round: number): Child => {
    const mode = round % 3 === 2 ? "in-process" : "workers";
    const args = [file, mode, String(round), String(seed + round), String(LOOPS)];
    const child = startChild(new URL("../kill/child.ts", import.meta.url), args);
    children.push(child);
    return child;
  };

  try {
    let next = start(0);
    for (let round = 0; ; round += 1) {
      const child = next;
      const isLast = report.fills >= fills;
      await child.heard<Line>((line) => line.say === "ready");
      if (!isLast) next = start(round + 1);
      const life = new Life(child, file, random, errors);
      if (isLast || round === 0) await life.inPeace();
      else if (!hasFileLimits || random.next() < 0.25) await life.underPageLimit();
      else await life.underFileLimits();
      const { code, signal } = await child.ended;

      const heard = record(journal, child.lines as readonly Line[], lines);
      lines += child.lines.length;
      report.refused += heard.full;
      report.fills += life.fills;
      report.startedFull += life.startedFull ? 1 : 0;
      report.wentOn += life.wentOn;
      errors.push(...heard.failed);
      if (life.isKilled) {
        report.kills += 1;
        if (heard.open > 0) report.inFlight += 1;
        if (signal !== "SIGKILL") errors.push(`round ${round} ended by itself with ${code}`);
      } else if (code !== 0 || heard.open > 0) {
        errors.push(`round ${round} ended with ${code ?? signal} and ${heard.open} operations open`);
      }
      progress?.(
        `${report.fills} of ${fills} times full, ${report.kills} kills, ${journal.length} operations`,
      );
      if (isLast || round % CHECK_EVERY === CHECK_EVERY - 1) add(findings, check(file, journal, isLast));
      if (isLast || errors.length > 20) break;
    }
  } finally {
    for (const { process } of children) process.kill("SIGKILL");
  }
  try {
    checkIndex(file);
  } catch (error) {
    findings.broken.push(`the index: ${error}`);
  }
  const operations = journal.filter((one) => one.result !== undefined).length;
  return { ...report, ...findings, operations, errors, journal };
}

/** One process from its first order to its exit. */
class Life {
  fills = 0;
  wentOn = 0;
  startedFull = false;
  isKilled = false;
  readonly #child: Child;
  readonly #file: string;
  readonly #random: Random;
  readonly #errors: string[];

  constructor(child: Child, file: string, random: Random, errors: string[]) {
    this.#child = child;
    this.#file = file;
    this.#random = random;
    this.#errors = errors;
  }

  async inPeace(): Promise<void> {
    this.#go();
    await this.#works(40);
    this.#stop();
  }

  /** The store's own limit, which cannot be raised: the next process has another one. */
  async underPageLimit(): Promise<void> {
    const pages = look(this.#file, (db) => Number(db.pragma("page_count", { simple: true })));
    this.#go({ maxBytes: (pages + this.#random.between(0, 40)) * PAGE, keeps: true });
    await this.#isFull();
    this.#kill();
  }

  async underFileLimits(): Promise<void> {
    const random = this.#random;
    const keeps = random.next() < 0.5;
    if (random.next() < 0.3) {
      this.#limit(LEAST);
      this.#go({ keeps });
      this.startedFull = true;
      if (!(await this.#isFull())) return this.#kill();
      if (random.next() < 0.2) return this.#kill();
      await this.#goesOn();
    } else this.#go({ keeps });
    for (let times = random.between(1, 6); times > 0; times -= 1) {
      await this.#works(random.between(1, 60));
      const near = keeps ? this.#beyondLog() : this.#withinDatabase();
      this.#limit(near);
      if (!(await this.#isFull())) return this.#kill();
      if (random.next() < 0.3) {
        this.#limit(Math.max(LEAST, Math.floor(near * random.next())));
        await this.#isFull();
      }
      if (random.next() < 0.2) return this.#kill();
      if (!(await this.#goesOn())) return this.#kill();
    }
    if (random.next() < 0.3) this.#kill();
    else this.#stop();
  }

  /** The log grows until its checkpoint; it must reach the limit before. */
  #beyondLog(): number {
    const near = sizeOf(`${this.#file}-wal`) + this.#random.between(-16 * PAGE, 64 * PAGE);
    return Math.min(Math.max(LEAST, near), MOST);
  }

  /** Every removal empties the log, unless the database has pages that cannot be written. */
  #withinDatabase(): number {
    return this.#random.between(LEAST, Math.max(LEAST, Math.min(sizeOf(this.#file) - 16 * PAGE, MOST / 8)));
  }

  #limit(bytes: number | typeof UNLIMITED): void {
    if (!hasFileLimits) return;
    // Only the soft limit, which every user can raise again.
    execFileSync("prlimit", ["--pid", String(this.#child.pid), `--fsize=${bytes}:`], { stdio: "pipe" });
  }

  #go(how: { readonly maxBytes?: number; readonly keeps?: boolean } = {}): void {
    this.#child.tell({ do: "go", ...how } satisfies Told);
  }

  async #isFull(): Promise<boolean> {
    const isRefusal = (line: Line): boolean =>
      line.say === "no room" || (line.say === "refused" && line.code === "disk_full");
    const isFull = await this.#hears(isRefusal, this.#random.between(1, 30));
    if (isFull) this.fills += 1;
    else this.#errors.push("a limit was set and nothing was refused");
    return isFull;
  }

  async #goesOn(): Promise<boolean> {
    this.#limit(UNLIMITED);
    const goesOn = await this.#works(this.#random.between(5, 40));
    if (goesOn) this.wentOn += 1;
    return goesOn;
  }

  async #works(answers: number): Promise<boolean> {
    const works = await this.#hears((line) => line.say === "done", answers);
    if (!works) this.#errors.push("a process with room to write did not go on");
    return works;
  }

  /** Whether this many more lines of this kind arrive in time. */
  async #hears(fits: (line: Line) => boolean, count: number): Promise<boolean> {
    let left = (this.#child.lines as readonly Line[]).filter(fits).length + count;
    const heard = this.#child
      .heard<Line>((line) => fits(line) && --left <= 0)
      .then(
        () => true,
        () => false,
      );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS, false);
    });
    const inTime = await Promise.race([heard, late]);
    clearTimeout(timer);
    return inTime;
  }

  #kill(): void {
    this.isKilled = true;
    this.#child.process.kill("SIGKILL");
  }

  #stop(): void {
    this.#child.tell({ do: "stop" } satisfies Told);
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
