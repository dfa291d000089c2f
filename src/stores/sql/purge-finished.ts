import { OUTPUT_KEPT_MS } from "../../core/process.ts";
import type { Db, Statement } from "./db.ts";
import { recordLastSender } from "./message-senders.ts";
import {
  deleteApprovalSql,
  deleteDeliverySql,
  deleteFlushSql,
  deleteInboxSql,
  deleteProcessSql,
  deleteTurnSql,
} from "./statements/deletions.ts";
import { deleteGuessSql } from "./statements/guesses.ts";
import { deletePairingSql } from "./statements/pairings.ts";
import {
  answeredApprovalsSql,
  endedProcessesSql,
  endedTurnsSql,
  expiredApprovalsSql,
  expiredGuessesSql,
  expiredPairingsSql,
  finishedFlushesSql,
  finishedInboxSql,
  settledDeliveriesSql,
} from "./statements/purge.ts";

interface PurgeRule {
  /** Selects the first rows to delete, up to a limit. */
  readonly find: Statement;
  readonly drop: Statement;
  /** How long the rows stay, if the caller does not decide. */
  readonly retentionMs?: number;
  /** Saves the senders that only these rows identify, before any row is deleted. */
  readonly savesSenders?: true;
}

type PurgeRow = { readonly n: number | string; readonly turn?: number | null; readonly seq?: number | null };

/**
 * In this order: inbox rows are deleted before the turns that identify their senders. Pending, running and unanswered
 * rows stay at any age.
 */
const PURGE_RULES: readonly PurgeRule[] = [
  { find: settledDeliveriesSql, drop: deleteDeliverySql },
  { find: finishedInboxSql, drop: deleteInboxSql, savesSenders: true },
  { find: endedTurnsSql, drop: deleteTurnSql },
  { find: expiredPairingsSql, drop: deletePairingSql },
  { find: expiredGuessesSql, drop: deleteGuessSql },
  { find: answeredApprovalsSql, drop: deleteApprovalSql },
  { find: expiredApprovalsSql, drop: deleteApprovalSql },
  { find: finishedFlushesSql, drop: deleteFlushSql },
  { find: endedProcessesSql, drop: deleteProcessSql, retentionMs: OUTPUT_KEPT_MS },
];

export function purgeFinished(
  db: Db,
  { before, limit, now }: { before: number; limit: number; now: number },
): { more: boolean } {
  let left = limit;
  for (const { find, drop, savesSenders, retentionMs } of PURGE_RULES) {
    const found = db.all<PurgeRow>(find, retentionMs === undefined ? before : now - retentionMs, left + 1);
    const expired = found.slice(0, left);
    if (savesSenders) for (const row of expired) saveSender(db, row);
    for (const { n } of expired) db.send(drop, n);
    left -= expired.length;
    if (found.length > expired.length) return { more: true };
  }
  return { more: false };
}

function saveSender(db: Db, { n, turn, seq }: PurgeRow): void {
  if (typeof turn === "number" && typeof seq === "number") recordLastSender(db, { n: Number(n), turn, seq });
}
