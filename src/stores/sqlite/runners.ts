import { readFileSync } from "node:fs";
import { hostname, uptime } from "node:os";
import { type HeldLease, RUNNER_DEAD_MS, type Runner } from "../../core/runner.ts";
import type { Db } from "./connection.ts";

interface RunnerRow {
  id: string;
  host: string;
  boot: string;
  pid: number;
  started: string;
  heartbeat: number;
}

/** This process as a runner, under a new id. */
export function localRunner(): Runner {
  return {
    id: crypto.randomUUID(),
    host: hostname(),
    boot: bootId(),
    pid: process.pid,
    started: startOf(process.pid) ?? "",
  };
}

export function beat(db: Db, input: { runner: Runner; now: number }): void {
  const { id, host, boot, pid, started } = input.runner;
  db.run(
    `insert into runners (id, host, boot, pid, started, heartbeat) values (?, ?, ?, ?, ?, ?)
     on conflict (id) do update set heartbeat = excluded.heartbeat`,
    id,
    host,
    boot,
    pid,
    started,
    input.now,
  );
}

export function retire(db: Db, input: { runner: string }): void {
  db.run("delete from runners where id = ?", input.runner);
  db.run("update leases set runner = null, until = 0, about = null where runner = ?", input.runner);
}

/**
 * Whether a runner still lives. On this machine the system knows at once: a pid that is gone, or that started at
 * another time, is a dead runner. Elsewhere only the heartbeat tells.
 */
export function alive(db: Db, id: string, now: number): boolean {
  const row = db.get<RunnerRow>("select * from runners where id = ?", id);
  if (row === undefined) return false;
  if (row.host !== hostname() || row.boot !== bootId()) return now - row.heartbeat <= RUNNER_DEAD_MS;
  if (row.pid === process.pid) return row.started === (startOf(process.pid) ?? "");
  try {
    process.kill(row.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const started = startOf(row.pid);
  // Without a start time (not Linux) a reused pid cannot be told, so the heartbeat has to.
  if (started === undefined || row.started === "") return now - row.heartbeat <= RUNNER_DEAD_MS;
  return started === row.started;
}

/** Those that nobody sees to: their runner is gone, or they never had one. */
export function left<Row extends { readonly runner: string | null }>(
  db: Db,
  rows: readonly Row[],
  now: number,
): Row[] {
  const isAlive = whoLives(db, now);
  return rows.filter(({ runner }) => runner === null || !isAlive(runner));
}

/** `alive`, asked once of each. */
export function whoLives(db: Db, now: number): (id: string) => boolean {
  const lives = new Map<string, boolean>();
  return (id) => {
    const known = lives.get(id) ?? alive(db, id, now);
    lives.set(id, known);
    return known;
  };
}

export function lease(
  db: Db,
  input: { name: string; runner: string; ttlMs: number; about?: string; now: number },
): number | undefined {
  const { name, runner, ttlMs, about = null, now } = input;
  const held = db.get<{ runner: string | null; fence: number; until: number }>(
    "select * from leases where name = ?",
    name,
  );
  const until = now + ttlMs;
  if (held?.runner === runner) {
    db.run("update leases set until = ?, about = coalesce(?, about) where name = ?", until, about, name);
    return held.fence;
  }
  if (held !== undefined && held.runner !== null && held.until > now && alive(db, held.runner, now))
    return undefined;
  const fence = (held?.fence ?? 0) + 1;
  db.run(
    `insert into leases (name, runner, fence, until, about) values (?, ?, ?, ?, ?)
     on conflict (name) do update set runner = excluded.runner, fence = excluded.fence, until = excluded.until,
       about = excluded.about`,
    name,
    runner,
    fence,
    until,
    about,
  );
  return fence;
}

export function unlease(db: Db, input: { name: string; runner: string }): boolean {
  // The row stays: its fence must keep rising.
  return (
    db.run(
      "update leases set runner = null, until = 0, about = null where name = ? and runner = ?",
      input.name,
      input.runner,
    ).changes > 0
  );
}

export function leases(db: Db, { now }: { now: number }): HeldLease[] {
  return db
    .all<RunnerRow & { name: string; until: number; about: string | null }>(
      `select l.name, l.until, l.about, r.* from leases l join runners r on r.id = l.runner
       where l.until > ? order by l.name`,
      now,
    )
    .filter(({ id }) => alive(db, id, now))
    .map(({ name, until, about, id, host, boot, pid, started }) => ({
      name,
      runner: { id, host, boot, pid, started },
      until,
      ...(about !== null && { about }),
    }));
}

let boot: string | undefined;

function bootId(): string {
  boot ??=
    readText("/proc/sys/kernel/random/boot_id") ??
    `up-since-${Math.round((Date.now() / 1000 - uptime()) / 10)}`;
  return boot;
}

/** When a process started, in the kernel's ticks; the name in the stat line may hold spaces and brackets. */
export function startOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie is dead: only its parent has not asked how it ended.
  return fields?.[0] === "Z" ? "ended" : fields?.[19];
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}
