import { type NewMessage, ROLES } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import { indexedText } from "../../core/search-terms.ts";
import type { Session } from "../../core/session.ts";
import type { SeqRange } from "../../core/view.ts";
import type { Ask, Prune } from "../../ports/store.ts";
import { useBlobs } from "./append.ts";
import type { Db } from "./connection.ts";
import { parseObject } from "./json-columns.ts";
import { sessionRow } from "./routing.ts";
import { messageId, SEQ_BITS, type SessionRow, toMessage, toSession } from "./rows.ts";
import { alive } from "./runners.ts";
import { isIndexedRole } from "./search.ts";
import * as sql from "./sql.ts";
import { ownedSession, visibleSql } from "./visible.ts";

export function remove(db: Db, input: Ask & { now: number }): boolean | Refused {
  const session = ownedSession(db, input.asker, input.session);
  if (session === undefined) return false;
  if (session.lease_holder !== null && alive(db, session.lease_holder, input.now)) {
    return refuse(
      "session_busy",
      "An answer is being written in this session. Stop it or wait for it first.",
    );
  }
  const process = db.get<{ id: string }>(sql.openProcessOf, session.n);
  if (process !== undefined) {
    return refuse(
      "session_busy",
      `A process still runs in it: postrider processes kill ${process.id} ends it.`,
    );
  }
  removeSession(db, session, input.now);
  return true;
}

/** One that was closed by hand may still be where a conversation goes on; one that was left, where something runs. */
const NOBODY_THERE = `s.lease_holder is null and not exists (select 1 from conversations c where c.session = s.n)
  and not exists (select 1 from processes p where p.session = s.n and p.state <> 'ended')`;

export function prune(db: Db, input: Prune): Session[] {
  const { where, values } = visibleSql(input.asker);
  const conditions = [where, "s.removed_at is null", "s.ended_at is not null", "s.last_at < ?", NOBODY_THERE];
  const bound: unknown[] = [...values, input.before];
  if (input.platform !== undefined) {
    conditions.push("s.platform = ?");
    bound.push(input.platform);
  }
  if (input.kinds !== undefined) {
    conditions.push(`s.kind in (${input.kinds.map(() => "?").join(", ") || "null"})`);
    bound.push(...input.kinds);
  }
  const rows = db.all<SessionRow>(
    `select s.* from sessions s where ${conditions.join(" and ")} order by s.last_at, s.n limit ?`,
    ...bound,
    input.limit ?? -1,
  );
  if (!input.dryRun) for (const row of rows) removeSession(db, row, input.now);
  return rows.map(toSession);
}

function removeSession(db: Db, session: SessionRow, now: number): void {
  const { n } = session;
  db.run("delete from views where session = ?", n);
  db.run("delete from hidden where session = ?", n);
  db.run("delete from holds where session = ?", n);
  db.run("delete from deliveries where session = ?", n);
  db.run("delete from turns where session = ?", n);
  db.run("delete from approvals where session = ?", n);
  db.run("delete from processes where session = ?", n);
  db.run(sql.deleteUsageOf, n);
  db.run(sql.dropAllowedIn, n);
  for (const { n: conversation } of db.all<{ n: number }>(
    "select n from conversations where session = ?",
    n,
  )) {
    // The rows stay, without words: they are what makes a late duplicate a duplicate.
    db.run(sql.cancelInboxOf, conversation);
    db.run("delete from decisions where conversation = ?", conversation);
    db.run("delete from conversations where n = ?", conversation);
  }
  db.run(
    "update conversations set fresh_previous = null, note_due = 0, notice_due = 0 where fresh_previous = ?",
    n,
  );
  db.run("update sessions set removed_at = ?, title = null, lease_holder = null where n = ?", now, n);
  sweep(db, session, now);
  // Its own list is gone now, so what it showed of removed sessions may be free as well.
  sweepRemoved(db, now, n);
}

/** Removed sessions keep what others show, for as long as those show it. */
export function sweepRemoved(db: Db, now: number, except = 0): void {
  for (const other of db.all<SessionRow>(
    "select * from sessions where removed_at is not null and n <> ?",
    except,
  )) {
    sweep(db, other, now);
  }
}

/** Deletes what no kept list shows of a removed session; the session itself when nothing is left. */
function sweep(db: Db, session: SessionRow, now: number): void {
  const { n } = session;
  const shown = db.all<{ session: number; from_seq: number; to_seq: number | null }>(sql.piecesElsewhere, n);
  let from = 1;
  for (const piece of shown) {
    removeMessages(db, session, { from, to: piece.from_seq - 1 });
    from = Math.max(from, (piece.to_seq ?? SEQ_BITS - 1) + 1);
  }
  removeMessages(db, session, { from, to: SEQ_BITS - 1 });
  const blobs = db.all<{ hash: string }>("select hash from blob_uses where session = ?", n);
  db.run("delete from blob_uses where session = ?", n);
  const heir = shown[0];
  if (heir === undefined) {
    db.run("delete from sessions where n = ?", n);
  } else {
    // What a fork still shows belongs to the fork's owner.
    const fork = sessionRow(db, heir.session);
    db.run(
      "update sessions set owner = ?, audience = ?, removed_at = coalesce(removed_at, ?), origin = null, display_name = null, config = null where n = ?",
      fork.owner,
      fork.audience,
      now,
      n,
    );
    for (const row of db.rows(sql.messagesBetween, messageId(n, 1), messageId(n, SEQ_BITS - 1))) {
      if (row[4] !== null) useBlobs(db, n, toMessage(row, session.id));
    }
  }
  if (blobs.length > 0) keepForWaiting(db);
  for (const { hash } of blobs) db.run(sql.deleteUnusedBlob, hash);
}

/** The bytes of messages that still wait belong to the sessions in which they will run. */
function keepForWaiting(db: Db): void {
  for (const { session, message } of db.all<{ session: number; message: string }>(sql.waitingMessages)) {
    const waits = parseObject<NewMessage>(message);
    if (waits !== undefined) useBlobs(db, session, waits);
  }
}

/** The rows and their words in the index. */
export function removeMessages(db: Db, session: SessionRow, { from, to }: SeqRange): void {
  if (to < from) return;
  const first = messageId(session.n, from);
  const last = messageId(session.n, to);
  const indexed = messageId(session.n, session.indexed_seq);
  for (const row of db.rows(sql.messagesBetween, first, Math.min(last, indexed))) {
    const terms = isIndexedRole(ROLES[row[2] as number]) ? indexedText((row[3] as string | null) ?? "") : "";
    if (terms !== "") db.run(sql.deleteWords, row[0], terms);
  }
  db.run("delete from messages where id between ? and ?", first, last);
}
