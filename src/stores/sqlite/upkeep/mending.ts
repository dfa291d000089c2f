import { randomUUID } from "node:crypto";
import { handleFor } from "../../../core/ids.ts";
import { chatOf, OWNER } from "../../../core/owner.ts";
import { NO_SESSION } from "../blobs.ts";
import type { Db } from "../connection.ts";
import { retryBusy } from "../failure.ts";
import { rollBack } from "../group-commit.ts";
import { createSession } from "../routing.ts";
import { type ConversationRow, messageId, SEQ_BITS } from "../rows.ts";
import { isRunning, retire } from "../runners.ts";
import { emptyIndex, indexMessages } from "../search.ts";
import * as sql from "../sql.ts";
import { countedSessions, hasWrongCounters, rightCounters } from "./counter-checks.ts";
import { count } from "./findings.ts";
import { resetJson } from "./json-checks.ts";
import { surveyMessages } from "./message-survey.ts";
import {
  ACCESS_OF_NOBODY,
  CONVERSATIONS_OF_NOTHING,
  LOST_SESSIONS,
  neededBlobs,
  PIECES_OF_NOTHING,
  UNUSED_BLOBS,
  WITHOUT_LIST,
} from "./reference-checks.ts";
import { mendUsage } from "./usage-checks.ts";

/** Says what it did, or nothing when there was nothing to do. */
type Mending = (db: Db, now: number) => string | undefined;

const INDEX_CHUNK = 256;

/** Makes again whatever follows from something else, and nothing more. Each step is one transaction. */
export function mendDatabase(db: Db, now: number, onDone: (text: string) => void): void {
  for (const mending of [
    adoptMessages,
    nameEveryone,
    dropListsOfNothing,
    repointConversations,
    listEverySession,
    recount,
    mendUsage,
    renoteBlobs,
    retireTheDead,
    resetJson,
  ] satisfies Mending[]) {
    const done = inTransaction(db, () => mending(db, now));
    if (done !== undefined) onDone(done);
  }
}

/** Empties the index and fills it again. If this is cut short, the next program that runs goes on with it. */
export function rebuildIndex(db: Db, onProgress?: (done: number) => void): string {
  inTransaction(db, () => emptyIndex(db));
  let done = 0;
  for (let last = INDEX_CHUNK; last >= INDEX_CHUNK; done += last) {
    last = inTransaction(db, () => indexMessages(db, INDEX_CHUNK));
    onProgress?.(done);
  }
  return `The search index was made again from ${count(done, "message")}.`;
}

export function inTransaction<T>(db: Db, work: () => T): T {
  retryBusy(() => db.run(sql.beginImmediate));
  try {
    const value = work();
    db.run(sql.commit);
    return value;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Messages whose session is gone get a session to be found in. Whose they were is not known: the home's owner keeps them. */
function adoptMessages(db: Db, now: number): string | undefined {
  const lost = db.all<{ n: number }>(LOST_SESSIONS);
  for (const { n } of lost) {
    const said = db.get<{ first: number; last: number; seq: number }>(
      "select min(at) as first, max(at) as last, max(id & 16777215) as seq from messages where id between ? and ?",
      messageId(n, 0),
      messageId(n, SEQ_BITS - 1),
    );
    const handle = handleFor(n);
    db.run(sql.insertProfile, "main", now);
    db.run(
      `insert into sessions (n, id, handle, kind, profile, owner, title, created_at, last_at, next_seq)
       values (?, ?, ?, 'chat', 'main', ?, ?, ?, ?, ?)`,
      n,
      `recovered_${n}_${randomUUID().slice(0, 8)}`,
      db.get("select 1 from sessions where handle = ?", handle) === undefined ? handle : null,
      OWNER,
      `recovered ${handle}`,
      said?.first ?? now,
      said?.last ?? now,
      (said?.seq ?? 0) + 1,
    );
  }
  return lost.length === 0 ? undefined : `${count(lost.length, "session")} made for messages that had none.`;
}

function nameEveryone(db: Db, now: number): string | undefined {
  const profiles = db.run(
    `insert or ignore into profiles (name, created_at)
     select profile, ? from sessions union select profile, ? from conversations`,
    now,
    now,
  ).changes;
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
  ).changes;
  return profiles + people === 0
    ? undefined
    : `${count(profiles + people, "name")} of people and profiles noted again.`;
}

/** Parts of what sessions show, or were to show, that lead nowhere. */
function dropListsOfNothing(db: Db): string | undefined {
  const gone = [
    "delete from views where session not in (select n from sessions)",
    `delete from pieces where ${PIECES_OF_NOTHING} or session not in (select n from sessions)
       or not exists (select 1 from views v where v.session = pieces.session and v.version = pieces.version)`,
    "delete from hidden where session not in (select n from sessions)",
    "delete from holds where session not in (select n from sessions)",
    "delete from approvals where session not in (select n from sessions)",
    "delete from processes where session not in (select n from sessions)",
    "delete from process_output where process not in (select n from processes)",
    "delete from usage where session not in (select n from sessions)",
    "delete from flushes where session not in (select n from sessions)",
    ...ACCESS_OF_NOBODY.map((from) => `delete ${from}`),
    `delete from blob_uses where session not in (select n from sessions union select ${NO_SESSION})
       or hash not in (select hash from blobs)`,
  ].reduce((sum, statement) => sum + db.run(statement).changes, 0);
  return gone === 0 ? undefined : `${count(gone, "row")} that led nowhere removed.`;
}

function repointConversations(db: Db, now: number): string | undefined {
  const lost = db.all<ConversationRow>(CONVERSATIONS_OF_NOTHING);
  for (const conversation of lost) {
    const { platform, chat_type: chatType, chat_id: chatId, thread_id, profile, person } = conversation;
    const source = { platform, chatType, chatId, ...(thread_id !== "" && { threadId: thread_id }) };
    const owner = person ?? chatOf(source) ?? chatId;
    const session = createSession(db, { id: randomUUID(), kind: "chat" }, { profile, owner, now, source });
    db.run(
      "update conversations set session = ?, expired = null, fresh_previous = null, note_due = 0, notice_due = 0 where n = ?",
      session.n,
      conversation.n,
    );
  }
  return lost.length === 0 ? undefined : `${count(lost.length, "conversation")} got a new session.`;
}

/** A session without its list shows what its newest kept list showed, or all it said. */
function listEverySession(db: Db): string | undefined {
  const lost = db.all<{ n: number }>(WITHOUT_LIST);
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
  return lost.length === 0 ? undefined : `${count(lost.length, "session")} show what can be shown again.`;
}

function recount(db: Db): string | undefined {
  const wrong = countedSessions(db, surveyMessages(db).said).filter(hasWrongCounters);
  for (const row of wrong) {
    const right = rightCounters(row);
    db.run(
      "update sessions set human_count = ?, tool_call_count = ?, next_seq = ?, last_at = ?, indexed_seq = ? where n = ?",
      right.human_count,
      right.tool_call_count,
      right.next_seq,
      right.last_at,
      right.indexed_seq,
      row.n,
    );
  }
  return wrong.length === 0 ? undefined : `${count(wrong.length, "session")} counted again.`;
}

function renoteBlobs(db: Db): string | undefined {
  const noted = neededBlobs(db, surveyMessages(db).blobs).reduce(
    (sum, { hash, session }) =>
      sum + (db.get(sql.blobSize, hash) === undefined ? 0 : db.run(sql.useBlob, hash, session).changes),
    0,
  );
  const gone = db.run(`delete from blobs where ${UNUSED_BLOBS}`).changes;
  if (noted + gone === 0) return undefined;
  return `Attachments: ${noted} uses noted, ${gone} that nobody needs removed.`;
}

function retireTheDead(db: Db, now: number): string | undefined {
  const dead = db.all<{ id: string }>("select id from runners").filter(({ id }) => !isRunning(db, id, now));
  for (const { id } of dead) retire(db, { runner: id });
  const freed = db
    .all<{ name: string; runner: string }>("select name, runner from leases where runner is not null")
    .filter(({ runner }) => !isRunning(db, runner, now));
  for (const { name } of freed) db.run("update leases set runner = null, until = 0 where name = ?", name);
  return dead.length + freed.length === 0
    ? undefined
    : `${count(dead.length, "program")} that ended struck off.`;
}
