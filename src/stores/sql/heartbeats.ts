import { RUNNER_DEAD_MS } from "../../core/runner.ts";
import type { Db } from "./db.ts";

/** The last heartbeat of a runner, and the time when it was first seen, on the monotonic clock. */
interface SeenHeartbeat {
  readonly heartbeat: number;
  readonly at: number;
}

/** By store and runner. Entries can be dropped at any time: the next check then counts as the first. */
const seenHeartbeats = new WeakMap<object, Map<string, SeenHeartbeat>>();
const MAX_SEEN = 1000;

/**
 * Whether the last heartbeat is recent. One that was stored under a clock that was ahead is in the future: it counts as
 * long as any other, from the time when it was first seen here.
 */
export function hasFreshHeartbeat(
  db: Db,
  { id, heartbeat }: { id: string; heartbeat: number },
  now: number,
): boolean {
  const seen = seenHeartbeats.get(db.store) ?? new Map<string, SeenHeartbeat>();
  seenHeartbeats.set(db.store, seen);
  const before = seen.get(id);
  const at = before?.heartbeat === heartbeat ? before.at : performance.now();
  seen.delete(id);
  seen.set(id, { heartbeat, at });
  const [oldest] = seen.keys();
  if (seen.size > MAX_SEEN && oldest !== undefined) seen.delete(oldest);
  return Math.max(now - heartbeat, performance.now() - at) <= RUNNER_DEAD_MS;
}
