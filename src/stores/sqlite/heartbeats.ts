import { RUNNER_DEAD_MS } from "../../core/runner.ts";
import type { Db } from "./connection.ts";

/** The heartbeat of a runner that was seen last, and when it was first seen, by the monotonic clock. */
interface SeenHeartbeat {
  readonly heartbeat: number;
  readonly at: number;
}

/** By connection and runner. It may be forgotten at any time: then the next look is the first. */
const seenHeartbeats = new WeakMap<Db, Map<string, SeenHeartbeat>>();
const MAX_SEEN = 1000;

/**
 * Whether the last heartbeat is young enough. One that was stored under a clock that was ahead lies in the future: it
 * counts for as long as any other, from when it was first seen here.
 */
export function hasFreshHeartbeat(
  db: Db,
  { id, heartbeat }: { id: string; heartbeat: number },
  now: number,
): boolean {
  const seen = seenHeartbeats.get(db) ?? new Map<string, SeenHeartbeat>();
  seenHeartbeats.set(db, seen);
  const before = seen.get(id);
  const at = before?.heartbeat === heartbeat ? before.at : performance.now();
  seen.delete(id);
  seen.set(id, { heartbeat, at });
  const [oldest] = seen.keys();
  if (seen.size > MAX_SEEN && oldest !== undefined) seen.delete(oldest);
  return Math.max(now - heartbeat, performance.now() - at) <= RUNNER_DEAD_MS;
}
