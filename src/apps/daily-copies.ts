import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../ports/store.ts";
import { copyInThread } from "../stores/sqlite/upkeep/copy-thread.ts";
import { formatFileTimestamp } from "../stores/sqlite/upkeep/replace-database.ts";
import type { Home } from "./home.ts";

/** The clock of the loop. */
export interface CopyClock {
  now(): number;
  /** Calls once after a delay, without keeping the process alive. Returns the cancellation. */
  after(ms: number, run: () => void): () => void;
}

export interface DailyCopies {
  /** Resolves when the loop has ended. */
  stop(): Promise<void>;
}

const DAY_MS = 24 * 3600 * 1000;
const COPIES_KEPT = 7;
/** The delay of the first check, so that a short-lived process makes no copy. */
const FIRST_CHECK_MS = 15_000;
const CHECK_MS = 10 * 60_000;
/** One process copies at a time. The time is longer than any copy; a crashed holder frees the lease at once. */
const LEASE = { name: "backup", ttlMs: 3600 * 1000 } as const;

/** Makes a daily copy of the database while a process runs, and keeps the newest seven. */
export function startDailyCopies(options: {
  readonly home: Home;
  readonly store: Store;
  /** The runner id of this process. */
  readonly runner: string;
  /** Receives notices. A repeated failure is reported once. */
  readonly notice: (text: string) => void;
  readonly clock?: CopyClock;
}): DailyCopies {
  const { home, store, runner, notice, clock = systemCopyClock } = options;
  const stopping = new AbortController();
  let looking: Promise<void> = Promise.resolve();
  let isTold = false;

  async function look(): Promise<void> {
    try {
      if (isDue(home, clock.now()) && (await copy())) isTold = false;
    } catch (error) {
      const { message } = error as Error;
      if (!isTold && !stopping.signal.aborted) notice(`The daily copy failed: ${message}`);
      isTold = true;
    }
  }

  /** False when another process makes the copy, or this one is stopping. */
  async function copy(): Promise<boolean> {
    if ((await store.runners.acquireLease({ ...LEASE, runner, now: clock.now() })) === undefined)
      return false;
    try {
      // Checked again, because another process may have made the copy before we got the lease.
      if (!isDue(home, clock.now())) return true;
      mkdirSync(home.backups, { recursive: true, mode: 0o700 });
      const to = join(home.backups, `postrider-${formatFileTimestamp(clock.now())}.db`);
      const made = await copyInThread(home.database, to, stopping.signal);
      if (made !== undefined) removeOldCopies(home);
      return made !== undefined;
    } finally {
      await store.runners.releaseLease({ name: LEASE.name, runner });
    }
  }

  function lookAfter(ms: number): () => void {
    return clock.after(ms, () => {
      looking = look().then(() => {
        if (!stopping.signal.aborted) cancel = lookAfter(CHECK_MS);
      });
    });
  }

  let cancel = lookAfter(FIRST_CHECK_MS);
  return {
    async stop() {
      stopping.abort();
      cancel();
      await looking;
    },
  };
}

/** Lists the daily copies, oldest first. The time is in the name, because moving a file changes its own times. */
export function listDailyCopies(home: Home): { readonly file: string; readonly at: number }[] {
  return listBackupFiles(home)
    .flatMap((name) => {
      const match = /^postrider-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/.exec(name);
      if (match === null) return [];
      const [year = 0, month = 0, ...rest] = match.slice(1).map(Number);
      return [{ file: join(home.backups, name), at: Date.UTC(year, month - 1, ...rest) }];
    })
    .toSorted((a, b) => a.at - b.at);
}

function isDue(home: Home, now: number): boolean {
  // A time in the future comes from a wrong clock and is ignored.
  const newest = listDailyCopies(home).findLast(({ at }) => at <= now);
  return newest === undefined || now - newest.at >= DAY_MS;
}

/** Only the lease holder calls this, so unfinished files belong to a crashed process. */
function removeOldCopies(home: Home): void {
  for (const { file } of listDailyCopies(home).slice(0, -COPIES_KEPT)) rmSync(file, { force: true });
  for (const name of listBackupFiles(home)) {
    if (/^postrider-\d{8}T\d{6}Z\.db\.new-/.test(name)) rmSync(join(home.backups, name), { force: true });
  }
}

function listBackupFiles(home: Home): string[] {
  try {
    return readdirSync(home.backups);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

const systemCopyClock: CopyClock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};
