import type { NewMessage, Part } from "../../core/message.ts";
import type { PersonData, PersonInbox, PersonName, PersonProcess } from "../../core/person.ts";
import { KEPT_OUTPUT } from "../../core/process.ts";
import type { Source } from "../../core/source.ts";
import type { Db } from "./db.ts";
import { INBOX_STATES } from "./inbox.ts";
import { parseList, parseObject } from "./json-columns.ts";
import { listPersonMemories } from "./memory.ts";
import { readPersonAccess } from "./person-access.ts";
import {
  findPersonRow,
  listMessagesElsewhere,
  listPersonAccounts,
  listPersonConversations,
  listPersonDeliveries,
  listPersonInbox,
  listPersonProcesses,
  listPersonTurns,
  type PersonInboxRow,
  type PersonProcessRow,
} from "./person-rows.ts";
import { readLastOutput } from "./process-output.ts";
import { SEQS_PER_SESSION, toMessage } from "./rows.ts";
import { messagesBetweenSql } from "./statements/messages.ts";
import { decisionsOfConversationSql, ownBlobsSql, ownCountsSql } from "./statements/person-rows.ts";
import { sessionByNumberSql } from "./statements/sessions.ts";

export function readPersonData(db: Db, input: PersonName): PersonData | undefined {
  const row = findPersonRow(db, input);
  if (row === undefined) return undefined;
  const { id: person } = row;
  const accounts = listPersonAccounts(db, person);
  const ids = listMessagesElsewhere(db, person);
  const conversations = listPersonConversations(db, person);
  const decisions = conversations.flatMap(({ n }) =>
    db
      .all<{ at: number; decision: string }>(decisionsOfConversationSql, n)
      .map((decision) => ({ conversation: n, ...decision })),
  );
  const inbox = listPersonInbox(db, person);
  const turns = listPersonTurns(db, person);
  const deliveries = listPersonDeliveries(db, person);
  const processes = listPersonProcesses(db, person);
  const access = readPersonAccess(db, person);
  const memories = listPersonMemories(db, person).flatMap(({ entries, chat }) =>
    entries.map((text) => ({ text, ...(chat !== undefined && { chat }) })),
  );
  const own = db.get<{ sessions: number; messages: number }>(ownCountsSql, person);
  return {
    person,
    ...(row.name !== null && { name: row.name }),
    createdAt: row.created_at,
    ...access,
    accounts: accounts.map(({ platform, user_id, alt_id, name, created_at }) => ({
      platform,
      ...(user_id !== null && { id: user_id }),
      ...(alt_id !== null && { altId: alt_id }),
      ...(name !== null && { name }),
      createdAt: created_at,
    })),
    counts: {
      accounts: accounts.length,
      sessions: own?.sessions ?? 0,
      messages: own?.messages ?? 0,
      elsewhere: ids.length,
      attachments: countAttachments(db, person, ids),
      conversations: conversations.length,
      decisions: decisions.length,
      inbox: inbox.length,
      turns: turns.length,
      deliveries: deliveries.length,
      processes: processes.length,
      pairings: access.pairings.length,
      approvals: access.approvals.length,
      allowed: access.allowed.length,
      memories: memories.length,
    },
    elsewhere: ids.flatMap((id) =>
      db
        .rows(messagesBetweenSql, id, id)
        .map((found) => toMessage(found, readSessionId(db, Math.floor(id / SEQS_PER_SESSION)))),
    ),
    conversations: conversations.map((row) => ({
      number: row.n,
      platform: row.platform,
      chatType: row.chat_type,
      chatId: row.chat_id,
      ...(row.thread_id !== "" && { threadId: row.thread_id }),
      session: readSessionId(db, row.session),
      activeAt: row.active_at,
    })),
    decisions,
    inbox: inbox.map(toPersonInbox),
    turns: turns.map(({ session, state, started_at, ended_at, target }) => ({
      session: readSessionId(db, session),
      state,
      startedAt: started_at,
      ...(ended_at !== null && { endedAt: ended_at }),
      target: parseSource(target),
    })),
    deliveries: deliveries.map(({ session, state, created_at, target, parts }) => ({
      ...(session !== null && { session: readSessionId(db, session) }),
      state,
      createdAt: created_at,
      target: parseSource(target),
      parts: parseList<Part>(parts) ?? [],
    })),
    processes: processes.map((row) => toPersonProcess(db, row)),
    memories,
  };
}

function readSessionId(db: Db, session: number): string {
  return db.get<{ id: string }>(sessionByNumberSql, session)?.id ?? "";
}

/** An unreadable source is returned empty: the rest of the row still belongs to the person. */
function parseSource(json: string): Source {
  return parseObject<Source>(json) ?? { platform: "", chatType: "dm", chatId: "" };
}

function toPersonInbox({ platform, chat_id, message_id, at, state, ...row }: PersonInboxRow): PersonInbox {
  const message = parseObject<NewMessage>(row.message);
  return {
    platform,
    chatId: chat_id,
    messageId: message_id,
    at,
    state: INBOX_STATES[state] ?? "done",
    ...(message !== undefined && { message }),
  };
}

function toPersonProcess(db: Db, row: PersonProcessRow): PersonProcess {
  return {
    id: row.id,
    session: readSessionId(db, row.session),
    state: row.state,
    begunAt: row.begun_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
    command: row.command,
    cwd: row.cwd,
    target: parseSource(row.target),
    output: readLastOutput(db, row, KEPT_OUTPUT).text,
  };
}

/** Files and images in the messages of the person and the answers to them. Blobs that others also sent stay with them. */
function countAttachments(db: Db, person: string, elsewhere: readonly number[]): number {
  const hashes = new Set(db.rows(ownBlobsSql, person).map(([hash]) => hash as string));
  for (const id of elsewhere) {
    for (const row of db.rows(messagesBetweenSql, id, id)) {
      for (const part of toMessage(row, "").parts)
        if ("blob" in part && part.blob !== undefined) hashes.add(part.blob);
    }
  }
  return hashes.size;
}
