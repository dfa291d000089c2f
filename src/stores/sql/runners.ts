import { hostname, uptime } from "node:os";
import { HEARTBEAT_MS, type HeldLease, RUNNER_DEAD_MS, type Runner } from "../../core/runner.ts";
import { isOwnPidScope, readStartTicks } from "../../system/process-identity.ts";
import type { Db } from "./db.ts";
import { hasFreshHeartbeat } from "./heartbeats.ts";
import {
  leaseByNameSql,
  leasesSinceSql,
  releaseLeaseSql,
  releaseLeasesSql,
  renewLeaseSql,
  takeLeaseSql,
} from "./statements/leases.ts";
import { deleteRunnerSql, runnerByIdSql, runnersWithPidSql, upsertRunnerSql } from "./statements/runners.ts";

interface RunnerRow {
  id: string;
  host: string;
  boot: string;
  pid: number;
  started: string;
  heartbeat: number;
  /** How long the machine had slept since its boot, at that heartbeat. */
  suspended: number;
  /** The first heartbeat after a silence that was long enough to count as dead. */
  resumed_at: number;
}

export function recordHeartbeat(db: Db, input: { runner: Runner; now: number }): void {
  const { id, host, boot, pid, started } = input.runner;
  db.send(upsertRunnerSql, id, host, boot, pid, started, db.now(input.now), getSuspendedMs());
}

export function retire(db: Db, input: { runner: string }): void {
  db.send(deleteRunnerSql, input.runner);
  db.send(releaseLeasesSql, input.runner);
}

/**
 * Whether a runner keeps its work. A process that is gone loses it at once; one that was silent for half a minute, for
 * example stopped, loses it although it exists: the fence refuses its writes when it wakes.
 */
export function isRunnerAlive(db: Db, id: string, machineNow: number): boolean {
  const row = db.get<RunnerRow>(runnerByIdSql, id);
  if (row === undefined) return false;
  const now = db.now(machineNow);
  const exists = checkProcessExists(row);
  if (exists === undefined) return hasFreshHeartbeat(db, row, now);
  // This process itself cannot be stopped: it runs this check.
  if (!exists || row.pid === process.pid) return exists;
  const sleptMs = getSuspendedMs() - row.suspended;
  // Its two clocks are read one after the other, so less than a second means nothing.
  return hasFreshHeartbeat(db, row, now - (sleptMs < 1000 ? 0 : sleptMs)) || hasJustResumed(db, now);
}

/** Whether a runner's process exists, however long it was silent. It may still have open files and children. */
export function hasRunnerProcess(db: Db, id: string, machineNow: number): boolean {
  const row = db.get<RunnerRow>(runnerByIdSql, id);
  if (row === undefined) return false;
  return checkProcessExists(row) ?? hasFreshHeartbeat(db, row, db.now(machineNow));
}

/**
 * Whether a runner of another machine was silent for less than ten minutes. Its machine may have been cut off: only a
 * process there can tell what became of its children.
 */
export function mayReturnElsewhere(db: Db, id: string, machineNow: number): boolean {
  const row = db.get<RunnerRow>(runnerByIdSql, id);
  return row !== undefined && row.host !== hostname() && db.now(machineNow) - row.heartbeat < MAX_CUT_OFF_MS;
}

const MAX_CUT_OFF_MS = 10 * 60_000;

/** `undefined` if the system does not know: on another machine, in another container, or without start times (not Linux). */
function checkProcessExists(row: RunnerRow): boolean | undefined {
  if (row.host !== hostname() || !isOwnPidScope(row.boot)) return undefined;
  if (row.pid === process.pid) return row.started === (readStartTicks(process.pid) ?? "");
  try {
    process.kill(row.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const started = readStartTicks(row.pid);
  if (started === undefined || row.started === "") return undefined;
  return started === row.started;
}

/**
 * Whether this process itself was silent until a moment ago, for example because the machine slept or the clock was set.
 * Other runners had no chance to write a heartbeat either, so it waits for one before it judges them.
 */
function hasJustResumed(db: Db, now: number): boolean {
  return db
    .all<RunnerRow>(runnersWithPidSql, process.pid)
    .some(
      (own) =>
        checkProcessExists(own) === true &&
        (now - own.heartbeat > RUNNER_DEAD_MS || now - own.resumed_at < RESUMED_MS),
    );
}

/** The heartbeat interval, and some time for a busy machine to store it. */
const RESUMED_MS = HEARTBEAT_MS + 2000;

/** How long the machine has slept since its boot. Constant if the monotonic clock includes sleep (not Linux). */
function getSuspendedMs(): number {
  return Math.round(uptime() * 1000 - Number(process.hrtime.bigint() / 1_000_000n));
}

/** The rows without a live runner. */
export function filterOrphaned<Row extends { readonly runner: string | null }>(
  db: Db,
  rows: readonly Row[],
  now: number,
): Row[] {
  const cache = createLivenessCache();
  return rows.filter(({ runner }) => runner === null || !isRunnerAliveCached(db, cache, runner, now));
}

/** The results of one check by runner, for the time of one operation. */
export type LivenessCache = Map<string, boolean>;

export function createLivenessCache(): LivenessCache {
  return new Map();
}

/** `isRunnerAlive`, run once per runner. */
export function isRunnerAliveCached(db: Db, cache: LivenessCache, id: string, now: number): boolean {
  const isAlive = cache.get(id) ?? isRunnerAlive(db, id, now);
  cache.set(id, isAlive);
  return isAlive;
}

/** `hasRunnerProcess`, run once per runner. */
export function hasRunnerProcessCached(db: Db, cache: LivenessCache, id: string, now: number): boolean {
  const exists = cache.get(id) ?? hasRunnerProcess(db, id, now);
  cache.set(id, exists);
  return exists;
}

export function acquireLease(
  db: Db,
  input: { name: string; runner: string; ttlMs: number; about?: string; now: number },
): number | undefined {
  const { name, runner, ttlMs, about = null } = input;
  const now = db.now(input.now);
  const held = db.get<{ runner: string | null; fence: number; until: number }>(leaseByNameSql, name);
  const until = now + ttlMs;
  if (held?.runner === runner) {
    db.send(renewLeaseSql, until, about, name);
    return held.fence;
  }
  if (
    held !== undefined &&
    held.runner !== null &&
    held.until > now &&
    isRunnerAlive(db, held.runner, input.now)
  )
    return undefined;
  const fence = (held?.fence ?? 0) + 1;
  db.send(takeLeaseSql, name, runner, fence, until, about);
  return fence;
}

export function releaseLease(db: Db, input: { name: string; runner: string }): boolean {
  return db.run(releaseLeaseSql, input.name, input.runner) > 0;
}

export function listLeases(
  db: Db,
  { now: machineNow, silent = false }: { readonly now: number; readonly silent?: boolean },
): HeldLease[] {
  const now = db.now(machineNow);
  const cache = createLivenessCache();
  return db
    .all<RunnerRow & { name: string; until: number; about: string | null }>(leasesSinceSql, silent ? 0 : now)
    .flatMap(({ name, until, about, heartbeat, ...row }) => {
      const { id, host, boot, pid, started } = row;
      const isSilent = until <= now || !isRunnerAliveCached(db, cache, id, machineNow);
      // Only its own machine can tell whether a silent process exists.
      if (isSilent && !(silent && checkProcessExists({ ...row, heartbeat }) === true)) return [];
      return [
        {
          name,
          runner: { id, host, boot, pid, started },
          until,
          ...(about !== null && { about }),
          ...(isSilent && { silentSince: heartbeat }),
        },
      ];
    });
}
