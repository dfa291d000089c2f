import { OUTPUT_KEPT_MS } from "../../core/process.ts";
import type { Db } from "./db.ts";
import { recordLastSender } from "./message-senders.ts";

interface PurgeRule {
  /** Selects the first rows to delete, up to a limit. */
  readonly find: string;
  readonly drop: string;
  /** How long the rows stay, if the caller does not decide. */
  readonly retentionMs?: number;
  /** Saves data of a row before any row is deleted. */
  beforeDelete?(db: Db, row: PurgeRow): void;
}

type PurgeRow = { readonly n: number | string; readonly turn?: number | null; readonly seq?: number | null };

/**
 * In this order: inbox rows are deleted before the turns that identify their senders. Pending, running and unanswered
 * rows stay at any age.
 */
const PURGE_RULES: readonly PurgeRule[] = [
  {
    find: "select n from deliveries where settled_at is not null and settled_at < ? order by settled_at limit ?",
    drop: "delete from deliveries where n = ?",
  },
  {
    find: "select n, turn, seq from inbox where at < ? and state not in (0, 1, 4) order by at, n limit ?",
    drop: "delete from inbox where n = ?",
    beforeDelete: (db, { n, turn, seq }) => {
      if (typeof turn === "number" && typeof seq === "number")
        recordLastSender(db, { n: Number(n), turn, seq });
    },
  },
  {
    find: "select n from turns where ended_at is not null and ended_at < ? order by ended_at limit ?",
    drop: "delete from turns where n = ?",
  },
  {
    find: "select n from pairings where expires_at < ? limit ?",
    drop: "delete from pairings where n = ?",
  },
  {
    find: "select name as n from guesses where max(at, locked_until) < ? limit ?",
    drop: "delete from guesses where name = ?",
  },
  {
    find: "select n from approvals where answered_at is not null and answered_at < ? order by answered_at limit ?",
    drop: "delete from approvals where n = ?",
  },
  {
    find: "select n from approvals where answer is null and deadline < ? limit ?",
    drop: "delete from approvals where n = ?",
  },
  {
    find: "select n from flushes where done_at is not null and done_at < ? order by done_at limit ?",
    drop: "delete from flushes where n = ?",
  },
  {
    find: "select n from processes where ended_at is not null and ended_at < ? order by ended_at limit ?",
    drop: "delete from processes where n = ?",
    retentionMs: OUTPUT_KEPT_MS,
  },
];

export function purgeFinished(
  db: Db,
  { before, limit, now }: { before: number; limit: number; now: number },
): { more: boolean } {
  let left = limit;
  for (const { find, drop, beforeDelete, retentionMs } of PURGE_RULES) {
    const found = db.all<PurgeRow>(find, retentionMs === undefined ? before : now - retentionMs, left + 1);
    const expired = found.slice(0, left);
    if (beforeDelete !== undefined) for (const row of expired) beforeDelete(db, row);
    for (const { n } of expired) db.send(drop, n);
    left -= expired.length;
    if (found.length > expired.length) return { more: true };
  }
  return { more: false };
}
