import { randomUUID } from "node:crypto";
import { encodeHandle } from "../../../core/ids.ts";
import { getChatAudience, OWNER } from "../../../core/owner.ts";
import { NO_SESSION } from "../../sql/blobs.ts";
import { insertSessionRow } from "../../sql/routing.ts";
import { type ConversationRow, SEQS_PER_SESSION, toMessageId } from "../../sql/rows.ts";
import { hasRunnerProcess, retire } from "../../sql/runners.ts";
import { clearIndex, indexMessages } from "../../sql/search.ts";
import { blobSizeSql, insertBlobUseSql } from "../../sql/statements/blobs.ts";
import { insertProfileSql } from "../../sql/statements/sessions.ts";
import type { SqliteDb } from "../connection.ts";
import { rollBack } from "../group-commit.ts";
import { retryBusy } from "../store-errors.ts";
import { beginImmediateSql, commitSql } from "../transaction.ts";
import { computeCounters, hasWrongCounters, listCountedSessions } from "./counter-checks.ts";
import { formatCount } from "./findings.ts";
import { resetUnreadableJson } from "./json-checks.ts";
import { surveyMessages } from "./message-survey.ts";
import {
  DANGLING_ACCESS_CLAUSES,
  DANGLING_CONVERSATIONS_SQL,
  DANGLING_PIECES_CONDITION,
  listNeededBlobs,
  ORPHANED_MESSAGES_SQL,
  SESSIONS_WITHOUT_VIEW_SQL,
  UNUSED_BLOBS_CONDITION,
} from "./reference-checks.ts";
import { repairUsage } from "./usage-checks.ts";

/** Returns a description of the repair, or `undefined` if there was nothing to do. */
type RepairStep = (db: SqliteDb, now: number) => string | undefined;

const INDEX_CHUNK = 256;

/** Restores derived data, and nothing else. Each step is one transaction. */
export function repairDatabase(db: SqliteDb, now: number, onDone: (text: string) => void): void {
  for (const repair of [
    adoptOrphanedMessages,
    insertMissingNames,
    deleteDanglingRows,
    repointConversations,
    restoreMissingViews,
    repairCounters,
    repairUsage,
    repairBlobUses,
    retireDeadRunners,
    resetUnreadableJson,
  ] satisfies RepairStep[]) {
    const done = runInTransaction(db, () => repair(db, now));
    if (done !== undefined) onDone(done);
  }
}

/** Empties the index and fills it again. If it is interrupted, the next process continues. */
export function rebuildIndex(db: SqliteDb, onProgress?: (done: number) => void): string {
  runInTransaction(db, () => clearIndex(db));
  let done = 0;
  for (let last = INDEX_CHUNK; last >= INDEX_CHUNK; done += last) {
    last = runInTransaction(db, () => indexMessages(db, INDEX_CHUNK));
    onProgress?.(done);
  }
  return `The search index was rebuilt from ${formatCount(done, "message")}.`;
}

export function runInTransaction<T>(db: SqliteDb, work: () => T): T {
  retryBusy(() => db.run(beginImmediateSql));
  try {
    const value = work();
    db.run(commitSql);
    return value;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Creates a session for messages without one. Their owner is unknown, so they go to the owner of the home. */
function adoptOrphanedMessages(db: SqliteDb, now: number): string | undefined {
  const lost = db.all<{ n: number }>(ORPHANED_MESSAGES_SQL);
  for (const { n } of lost) {
    const range = db.get<{ first: number; last: number; seq: number }>(
      "select min(at) as first, max(at) as last, max(id & 16777215) as seq from messages where id between ? and ?",
      toMessageId(n, 0),
      toMessageId(n, SEQS_PER_SESSION - 1),
    );
    const handle = encodeHandle(n);
    db.run(insertProfileSql, "main", now);
    db.run(
      `insert into sessions (n, id, handle, kind, profile, owner, title, created_at, last_at, next_seq)
       values (?, ?, ?, 'chat', 'main', ?, ?, ?, ?, ?)`,
      n,
      `recovered_${n}_${randomUUID().slice(0, 8)}`,
      db.get("select 1 from sessions where handle = ?", handle) === undefined ? handle : null,
      OWNER,
      `recovered ${handle}`,
      range?.first ?? now,
      range?.last ?? now,
      (range?.seq ?? 0) + 1,
    );
  }
  return lost.length === 0
    ? undefined
    : `${formatCount(lost.length, "session")} created for messages without one.`;
}

function insertMissingNames(db: SqliteDb, now: number): string | undefined {
  const profiles = db.run(
    `insert or ignore into profiles (name, created_at)
     select profile, ? from sessions union select profile, ? from conversations`,
    now,
    now,
  );
  const people = db.run(
    `insert or ignore into people (id, created_at)
     select person, ? from accounts union select owner, ? from sessions where owner not like 'chat:%'
     union select person, ? from conversations where person is not null
     union select substr(owner, 1, instr(owner || ' in ', ' in ') - 1), ? from memories
       where owner not like 'chat:%' and owner not like 'profile:%'`,
    now,
    now,
    now,
    now,
  );
  return profiles + people === 0
    ? undefined
    : `${formatCount(profiles + people, "name")} of people and profiles restored.`;
}

/** Deletes rows that refer to missing rows. */
function deleteDanglingRows(db: SqliteDb): string | undefined {
  const deleted = [
    "delete from views where session not in (select n from sessions)",
    `delete from pieces where ${DANGLING_PIECES_CONDITION} or session not in (select n from sessions)
       or not exists (select 1 from views v where v.session = pieces.session and v.version = pieces.version)`,
    "delete from hidden where session not in (select n from sessions)",
    "delete from holds where session not in (select n from sessions)",
    "delete from approvals where session not in (select n from sessions)",
    "delete from processes where session not in (select n from sessions)",
    "delete from process_output where process not in (select n from processes)",
    "delete from usage where session not in (select n from sessions)",
    "delete from flushes where session not in (select n from sessions)",
    ...DANGLING_ACCESS_CLAUSES.map((from) => `delete ${from}`),
    `delete from blob_uses where session not in (select n from sessions union select ${NO_SESSION})
       or hash not in (select hash from blobs)`,
  ].reduce((sum, statement) => sum + db.run(statement), 0);
  return deleted === 0
    ? undefined
    : `${formatCount(deleted, "row")} with references to missing rows deleted.`;
}

function repointConversations(db: SqliteDb, now: number): string | undefined {
  const lost = db.all<ConversationRow>(DANGLING_CONVERSATIONS_SQL);
  for (const conversation of lost) {
    const { platform, chat_type: chatType, chat_id: chatId, thread_id, profile, person } = conversation;
    const source = { platform, chatType, chatId, ...(thread_id !== "" && { threadId: thread_id }) };
    const owner = person ?? getChatAudience(source) ?? chatId;
    const session = insertSessionRow(db, { id: randomUUID(), kind: "chat" }, { profile, owner, now, source });
    db.run(
      "update conversations set session = ?, expired = null, fresh_previous = null, note_due = 0, notice_due = 0 where n = ?",
      session.n,
      conversation.n,
    );
  }
  return lost.length === 0 ? undefined : `${formatCount(lost.length, "conversation")} got a new session.`;
}

/** A session without its view shows its newest kept version, or all its messages. */
function restoreMissingViews(db: SqliteDb): string | undefined {
  const lost = db.all<{ n: number }>(SESSIONS_WITHOUT_VIEW_SQL);
  for (const { n } of lost) {
    const kept = db.get<{ version: number }>(
      `select p.version from pieces p join views v on v.session = p.session and v.version = p.version
       where p.session = ? and p.piece_session = p.session and p.to_seq is null order by p.version desc limit 1`,
      n,
    );
    if (kept !== undefined) db.run("delete from views where session = ? and version > ?", n, kept.version);
    else {
      db.run("delete from views where session = ?", n);
      db.run("delete from hidden where session = ?", n);
    }
    db.run("update sessions set version = ? where n = ?", kept?.version ?? 0, n);
  }
  return lost.length === 0 ? undefined : `The views of ${formatCount(lost.length, "session")} restored.`;
}

function repairCounters(db: SqliteDb): string | undefined {
  const wrong = listCountedSessions(db, surveyMessages(db).counts).filter(hasWrongCounters);
  for (const row of wrong) {
    const expected = computeCounters(row);
    db.run(
      "update sessions set human_count = ?, tool_call_count = ?, next_seq = ?, last_at = ?, indexed_seq = ? where n = ?",
      expected.human_count,
      expected.tool_call_count,
      expected.next_seq,
      expected.last_at,
      expected.indexed_seq,
      row.n,
    );
  }
  return wrong.length === 0
    ? undefined
    : `The counters of ${formatCount(wrong.length, "session")} corrected.`;
}

function repairBlobUses(db: SqliteDb): string | undefined {
  const recorded = listNeededBlobs(db, surveyMessages(db).blobs).reduce(
    (sum, { hash, session }) =>
      sum + (db.get(blobSizeSql, hash) === undefined ? 0 : db.run(insertBlobUseSql, hash, session)),
    0,
  );
  const deleted = db.run(`delete from blobs where ${UNUSED_BLOBS_CONDITION}`);
  if (recorded + deleted === 0) return undefined;
  return `Attachments: ${recorded} uses recorded, ${deleted} unused deleted.`;
}

function retireDeadRunners(db: SqliteDb, now: number): string | undefined {
  const dead = db
    .all<{ id: string }>("select id from runners")
    .filter(({ id }) => !hasRunnerProcess(db, id, now));
  for (const { id } of dead) retire(db, { runner: id });
  const freed = db
    .all<{ name: string; runner: string }>("select name, runner from leases where runner is not null")
    .filter(({ runner }) => !hasRunnerProcess(db, runner, now));
  for (const { name } of freed) db.run("update leases set runner = null, until = 0 where name = ?", name);
  return dead.length + freed.length === 0 ? undefined : `${formatCount(dead.length, "dead runner")} removed.`;
}
