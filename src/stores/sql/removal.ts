import { type NewMessage, ROLES } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import { buildIndexText } from "../../core/search-terms.ts";
import type { Session } from "../../core/session.ts";
import type { SeqRange } from "../../core/view.ts";
import type { Prune } from "../../ports/session-store.ts";
import type { SessionRequest } from "../../ports/store-request.ts";
import { recordBlobUses } from "./append.ts";
import type { Db } from "./db.ts";
import { parseObject } from "./json-columns.ts";
import { getSessionRow } from "./routing.ts";
import { SEQS_PER_SESSION, type SessionRow, toMessage, toMessageId, toSession } from "./rows.ts";
import { isRunnerAlive } from "./runners.ts";
import { isIndexedRole } from "./search.ts";
import { deleteSessionApprovalRulesSql } from "./statements/approvals.ts";
import { deleteUnusedBlobSql } from "./statements/blobs.ts";
import { conversationsInSessionSql } from "./statements/conversations.ts";
import {
  deleteConversationDecisionsSql,
  deleteConversationSql,
  deleteMessagesBetweenSql,
  deleteSessionApprovalsSql,
  deleteSessionBlobUsesSql,
  deleteSessionDeliveriesSql,
  deleteSessionHoldsSql,
  deleteSessionProcessesSql,
  deleteSessionSql,
  deleteSessionTurnsSql,
  deleteSessionViewsSql,
} from "./statements/deletions.ts";
import { cancelConversationInboxSql, pendingMessagesSql } from "./statements/inbox.ts";
import { messagesBetweenSql } from "./statements/messages.ts";
import { openProcessInSessionSql } from "./statements/processes.ts";
import {
  clearFreshPreviousSql,
  giveSessionAwaySql,
  markSessionRemovedSql,
  otherRemovedSessionsSql,
  selectPrunable,
  sessionBlobsSql,
} from "./statements/removal.ts";
import { deleteSessionUsageSql } from "./statements/usage.ts";
import { clearHiddenSql, piecesInOtherSessionsSql } from "./statements/views.ts";
import { buildVisibleCondition, findVisibleSession } from "./visibility.ts";

export function remove(db: Db, input: SessionRequest & { now: number }): boolean | Refused {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return false;
  if (session.lease_holder !== null && isRunnerAlive(db, session.lease_holder, input.now)) {
    return refuse(
      "session_busy",
      "An answer is being written in this session. Stop it or wait for it first.",
    );
  }
  const process = db.get<{ id: string }>(openProcessInSessionSql, session.n);
  if (process !== undefined) {
    return refuse(
      "session_busy",
      `A process still runs in it: postrider processes kill ${process.id} ends it.`,
    );
  }
  markSessionRemoved(db, session, input.now);
  return true;
}

export function prune(db: Db, input: Prune): Session[] {
  const { where, values } = buildVisibleCondition(input.asker);
  const { platform, kinds, limit } = input;
  const rows = db.all<SessionRow>(
    selectPrunable(where, {
      byPlatform: platform !== undefined,
      kinds: kinds?.length,
      isLimited: limit !== undefined,
    }),
    ...values,
    input.before,
    ...(platform === undefined ? [] : [platform]),
    ...(kinds ?? []),
    ...(limit === undefined ? [] : [limit]),
  );
  if (!input.dryRun) for (const row of rows) markSessionRemoved(db, row, input.now);
  return rows.map(toSession);
}

function markSessionRemoved(db: Db, session: SessionRow, now: number): void {
  const { n } = session;
  deleteSessionRecords(db, n);
  for (const { n: conversation } of db.all<{ n: number }>(conversationsInSessionSql, n)) {
    // The inbox rows stay, without text: they identify a late duplicate.
    db.send(cancelConversationInboxSql, conversation);
    db.send(deleteConversationDecisionsSql, conversation);
    db.send(deleteConversationSql, conversation);
  }
  db.send(clearFreshPreviousSql, n);
  db.send(markSessionRemovedSql, now, n);
  sweepSession(db, session, now);
  // Its view is deleted now, so removed sessions that it showed may be free as well.
  sweepRemoved(db, now, n);
}

/** Deletes the rows of a session that are neither messages nor conversations. */
export function deleteSessionRecords(db: Db, session: number): void {
  db.send(deleteSessionViewsSql, session);
  db.send(clearHiddenSql, session);
  db.send(deleteSessionHoldsSql, session);
  db.send(deleteSessionDeliveriesSql, session);
  db.send(deleteSessionTurnsSql, session);
  db.send(deleteSessionApprovalsSql, session);
  db.send(deleteSessionProcessesSql, session);
  db.send(deleteSessionUsageSql, session);
  db.send(deleteSessionApprovalRulesSql, session);
}

/** Removed sessions keep the messages that other sessions still show. */
export function sweepRemoved(db: Db, now: number, except = 0): void {
  for (const other of db.all<SessionRow>(otherRemovedSessionsSql, except)) {
    sweepSession(db, other, now);
  }
}

/** Deletes the messages of a removed session that no view shows; the session itself if none is left. */
function sweepSession(db: Db, session: SessionRow, now: number): void {
  const { n } = session;
  const shown = db.all<{ session: number; from_seq: number; to_seq: number | null }>(
    piecesInOtherSessionsSql,
    n,
  );
  let from = 1;
  for (const piece of shown) {
    deleteMessages(db, session, { from, to: piece.from_seq - 1 });
    from = Math.max(from, (piece.to_seq ?? SEQS_PER_SESSION - 1) + 1);
  }
  deleteMessages(db, session, { from, to: SEQS_PER_SESSION - 1 });
  const blobs = db.all<{ hash: string }>(sessionBlobsSql, n);
  db.send(deleteSessionBlobUsesSql, n);
  const heir = shown[0];
  if (heir === undefined) {
    db.send(deleteSessionSql, n);
  } else {
    const fork = getSessionRow(db, heir.session);
    db.send(giveSessionAwaySql, fork.owner, fork.audience, now, n);
    for (const row of db.rows(messagesBetweenSql, toMessageId(n, 1), toMessageId(n, SEQS_PER_SESSION - 1))) {
      if (row[4] !== null) recordBlobUses(db, n, toMessage(row, session.id));
    }
  }
  if (blobs.length > 0) keepPendingBlobs(db);
  for (const { hash } of blobs) db.send(deleteUnusedBlobSql, hash);
}

/** The blobs of pending messages belong to the sessions in which they will run. */
function keepPendingBlobs(db: Db): void {
  for (const { session, message } of db.all<{ session: number; message: string }>(pendingMessagesSql)) {
    const pending = parseObject<NewMessage>(message);
    if (pending !== undefined) recordBlobUses(db, session, pending);
  }
}

/** Deletes the rows and their words in the index. */
export function deleteMessages(db: Db, session: SessionRow, { from, to }: SeqRange): void {
  if (to < from) return;
  const first = toMessageId(session.n, from);
  const last = toMessageId(session.n, to);
  const indexed = toMessageId(session.n, session.indexed_seq);
  for (const row of db.rows(messagesBetweenSql, first, Math.min(last, indexed))) {
    const terms = isIndexedRole(ROLES[row[2] as number])
      ? buildIndexText((row[3] as string | null) ?? "")
      : "";
    if (terms !== "") db.index.removeWords(db, row[0] as number, terms);
  }
  db.send(deleteMessagesBetweenSql, first, last);
}
