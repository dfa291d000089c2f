import {
  type Flush,
  type Memory,
  type MemoryChange,
  type MemoryOwner,
  memoryOwnerOf,
} from "../../core/memory.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { SessionKind } from "../../core/session.ts";
import type { UsageDelta } from "../../core/usage.ts";
import type { Db } from "./connection.ts";
import { changeEach, memory } from "./memory.ts";
import { sessionRow } from "./routing.ts";
import type { SessionRow } from "./rows.ts";
import { whoLives } from "./runners.ts";
import * as sql from "./sql.ts";
import { addUsageTo } from "./usage.ts";

/** Nobody spoke in these for themselves: there is nothing to remember of a person. */
const UNREMEMBERED: ReadonlySet<SessionKind> = new Set(["job", "webhook"]);
/** Less than two questions and answers is hardly worth it. */
const LEAST_SAID = 4;
/** What has taken two processes with it is left alone. */
const MOST_ATTEMPTS = 2;

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

export function askFlush(db: Db, { session: id, now }: { session: string; now: number }): boolean {
  const session = db.get<SessionRow & { flushed_seq: number }>(sql.sessionById, id);
  if (session === undefined || session.removed_at !== null || UNREMEMBERED.has(session.kind)) return false;
  const said = session.next_seq - 1;
  if (said < LEAST_SAID || said <= session.flushed_seq) return false;
  db.run(sql.setFlushed, said, session.n);
  db.run(sql.insertFlush, session.n, said, now);
  return true;
}

export function claimFlush(
  db: Db,
  { runner, owner, now }: { runner: string; owner?: MemoryOwner; now: number },
): Flush | undefined {
  const isAlive = whoLives(db, now);
  for (const row of db.all<FlushRow>(sql.openFlushes)) {
    if (owner !== undefined && ownerOf(row) !== owner) continue;
    if (row.runner !== null && isAlive(row.runner)) continue;
    if (row.removed_at !== null || row.attempts >= MOST_ATTEMPTS) {
      db.run(sql.endFlush, now, row.n);
      continue;
    }
    db.run(sql.beginFlush, runner, row.n);
    const { n: number, session_id: session, profile, up_to: upTo } = row;
    return { number, session, owner: ownerOf(row), profile, upTo, attempt: row.attempts + 1 };
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
  const row = db.get<FlushRow>(sql.flushByNumber, input.flush);
  if (row === undefined || row.done_at !== null || row.runner !== input.runner) {
    return refuse(
      "stale_fence",
      "This flush was finished or taken over by another runner; nothing of this was remembered.",
    );
  }
  db.run(sql.endFlush, input.now, row.n);
  // Whoever removed the session meanwhile wants nothing kept of it.
  if (row.removed_at !== null) return memory(db, { owner: ownerOf(row) });
  if (input.usage !== undefined)
    addUsageTo(db, sessionRow(db, row.session), { purpose: "flush", usage: input.usage, now: input.now });
  return changeEach(db, ownerOf(row), input.changes, input.now, true);
}

function ownerOf({ owner, audience }: FlushRow): MemoryOwner {
  return memoryOwnerOf({ owner, ...(audience !== null && { audience }) });
}
