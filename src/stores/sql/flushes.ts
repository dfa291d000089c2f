import {
  type Flush,
  getMemoryOwner,
  type Memory,
  type MemoryChange,
  type MemoryOwner,
} from "../../core/memory.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { SessionKind } from "../../core/session.ts";
import type { UsageDelta } from "../../core/usage.ts";
import type { Db } from "./db.ts";
import { applyMemoryChanges, getMemory } from "./memory.ts";
import { getSessionRow } from "./routing.ts";
import type { SessionRow } from "./rows.ts";
import { createLivenessCache, isRunnerAliveCached } from "./runners.ts";
import {
  claimFlushSql,
  finishFlushSql,
  flushByNumberSql,
  insertFlushSql,
  openFlushesSql,
} from "./statements/flushes.ts";
import { sessionByIdSql, setFlushedSeqSql } from "./statements/sessions.ts";
import { addSessionUsage } from "./usage.ts";

/** Sessions without a person who writes for themselves: there is nothing to remember. */
const KINDS_WITHOUT_MEMORY: ReadonlySet<SessionKind> = new Set(["job", "webhook"]);
/** Fewer than two questions and answers contain too little. */
const MIN_MESSAGES = 4;
/** A flush that crashed two processes is not retried. */
const MAX_ATTEMPTS = 2;

interface FlushRow {
  n: number;
  session: number;
  session_id: string;
  owner: string;
  audience: string | null;
  profile: string;
  removed_at: number | null;
  up_to: number;
  attempts: number;
  runner: string | null;
  done_at: number | null;
}

export function requestFlush(db: Db, { session: id, now }: { session: string; now: number }): boolean {
  const session = db.get<SessionRow & { flushed_seq: number }>(sessionByIdSql, id);
  if (session === undefined || session.removed_at !== null || KINDS_WITHOUT_MEMORY.has(session.kind))
    return false;
  const lastSeq = session.next_seq - 1;
  if (lastSeq < MIN_MESSAGES || lastSeq <= session.flushed_seq) return false;
  db.send(setFlushedSeqSql, lastSeq, session.n);
  db.send(insertFlushSql, session.n, lastSeq, now);
  return true;
}

export function claimFlush(
  db: Db,
  { runner, owner, now }: { runner: string; owner?: MemoryOwner; now: number },
): Flush | undefined {
  const cache = createLivenessCache();
  for (const row of db.all<FlushRow>(openFlushesSql)) {
    if (owner !== undefined && getFlushOwner(row) !== owner) continue;
    if (row.runner !== null && isRunnerAliveCached(db, cache, row.runner, now)) continue;
    if (row.removed_at !== null || row.attempts >= MAX_ATTEMPTS) {
      db.send(finishFlushSql, now, row.n);
      continue;
    }
    db.send(claimFlushSql, runner, row.n);
    const { n: number, session_id: session, profile, up_to: upTo } = row;
    return { number, session, owner: getFlushOwner(row), profile, upTo, attempt: row.attempts + 1 };
  }
  return undefined;
}

export function finishFlush(
  db: Db,
  input: {
    flush: number;
    runner: string;
    changes: readonly MemoryChange[];
    usage?: UsageDelta;
    now: number;
  },
): Memory | Refused {
  const row = db.get<FlushRow>(flushByNumberSql, input.flush);
  if (row === undefined || row.done_at !== null || row.runner !== input.runner) {
    return refuse(
      "stale_fence",
      "This flush was finished or taken over by another runner; nothing was saved.",
    );
  }
  db.send(finishFlushSql, input.now, row.n);
  // A removed session must leave no notes.
  if (row.removed_at !== null) return getMemory(db, { owner: getFlushOwner(row) });
  if (input.usage !== undefined)
    addSessionUsage(db, getSessionRow(db, row.session), {
      purpose: "flush",
      usage: input.usage,
      now: input.now,
    });
  return applyMemoryChanges(db, getFlushOwner(row), input.changes, input.now, true);
}

function getFlushOwner({ owner, audience }: FlushRow): MemoryOwner {
  return getMemoryOwner({ owner, ...(audience !== null && { audience }) });
}
