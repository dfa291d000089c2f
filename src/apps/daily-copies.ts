import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../ports/store.ts";
import { copyInThread } from "../stores/sqlite/upkeep/copy-thread.ts";
import { formatFileTimestamp } from "../stores/sqlite/upkeep/replace-database.ts";
import type { Home } from "./home.ts";

/** Time as this loop needs it. */
export interface CopyClock {
  now(): number;
  /** Calls once after so many milliseconds, without keeping the process alive. Returns how to call it off. */
  after(ms: number, run: () => void): () => void;
}

export interface DailyCopies {
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
}

const DAY_MS = 24 * 3600 * 1000;
const COPIES_KEPT = 7;
/** A program that lives a moment, such as one line from a pipe, makes no copies. */
const FIRST_CHECK_MS = 15_000;
const CHECK_MS = 10 * 60_000;
/** One copies at a time. Longer than any copy takes; a holder that dies frees it at once. */
const LEASE = { name: "backup", ttlMs: 3600 * 1000 } as const;

/** A copy of the database each day while a program runs, the newest seven kept, by one process of all. */
export function startDailyCopies(options: {
  readonly home: Home;
  readonly store: Store;
  /** The id under which this process sends heartbeats. */
  readonly runner: string;
  /** For the person; a failure that goes on is told once. */
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
      if (!isTold && !stopping.signal.aborted) notice(`The daily copy was not made: ${message}`);
      isTold = true;
    }
  }

  /** False when another process does it, or this one is stopping. */
  async function copy(): Promise<boolean> {
    if ((await store.runners.acquireLease({ ...LEASE, runner, now: clock.now() })) === undefined)
      return false;
    try {
      // Looked at again: between the look and the lease another process may have made it.
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

/** The daily copies that are there, the oldest first. The instant is in the name: a file's own times change when it is moved. */
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
  // One from the future was named by a wrong clock, and tells nothing.
  const newest = listDailyCopies(home).findLast(({ at }) => at <= now);
  return newest === undefined || now - newest.at >= DAY_MS;
}

/** Only whoever holds the lease does this, so what is unfinished was left by one that fell. */
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
