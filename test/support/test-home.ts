import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import type { Store } from "../../src/ports/store.ts";
import { createSessions, type Sessions, type SessionsOptions } from "../../src/sessions/sessions.ts";
import { type SqliteOptions, sqliteStore } from "../../src/stores/sqlite/store.ts";
import { writeNewDatabase } from "./new-database.ts";

export const MINUTE = 60_000;
export const HOUR: number = 60 * MINUTE;
export const DAY: number = 24 * HOUR;

/** A clock that only the test moves, and random bytes from a counter. */
export interface FakeClock extends Clock {
  /** The system clock. Setting it does not change the monotonic clock. */
  time: number;
  /** Moves both clocks. */
  pass(ms: number): void;
}

/** A Sunday in March, ten in the morning, in UTC. */
export const START: number = Date.UTC(2026, 2, 15, 10);

export function fakeClock(time: number = START): FakeClock {
  let chance = 0;
  let passed = 0;
  const clock: FakeClock = {
    time,
    pass: (ms) => {
      clock.time += ms;
      passed += ms;
    },
    now: () => clock.time,
    monotonic: () => passed,
    random: (bytes) => {
      chance += 1;
      const values = new Uint8Array(Math.max(4, bytes));
      new DataView(values.buffer).setUint32(values.length - 4, chance);
      return values.subarray(values.length - bytes);
    },
  };
  return clock;
}

export interface Home {
  readonly file: string;
  readonly clock: FakeClock;
  readonly store: Store;
  readonly sessions: Sessions;
  /** Another store on the same file, like another process. */
  again(options?: HomeOptions): Promise<Home>;
  /** Closes this store, then opens the file again, as after a restart. */
  restart(options?: HomeOptions): Promise<Home>;
}

export type HomeOptions = Partial<Omit<SessionsOptions, "store" | "clock">> & Pick<SqliteOptions, "mode">;

/** A database file in a new folder, and the library on it. Both are removed after the test. */
export async function openHome(options: HomeOptions = {}, clock: FakeClock = fakeClock()): Promise<Home> {
  const folder = mkdtempSync(join(tmpdir(), "postrider-sessions-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "postrider.db");
  await writeNewDatabase(file);
  return openFile(file, clock, options);
}

async function openFile(file: string, clock: FakeClock, options: HomeOptions): Promise<Home> {
  const { mode = "in-process", ...rest } = options;
  const store = await sqliteStore({ file, mode });
  onTestFinished(() => store.close());
  return {
    file,
    clock,
    store,
    sessions: createSessions({ store, clock, zone: "UTC", ...rest }),
    again: (more = options) => openFile(file, clock, more),
    async restart(more = options) {
      await store.close();
      return openFile(file, clock, more);
    },
  };
}
