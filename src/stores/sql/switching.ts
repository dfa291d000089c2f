import type { Opened } from "../../core/conversation.ts";
import { type Asker, canSee, getChatAudience, isEveryone } from "../../core/owner.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { NewSession } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import type { SessionRequest } from "../../ports/store-request.ts";
import { recordBlobUses } from "./append.ts";
import type { Db } from "./db.ts";
import {
  getSessionOwner,
  getSessionRow,
  insertSessionRow,
  pointConversation,
  readOpened,
  recordDecision,
} from "./routing.ts";
import { type ConversationRow, type SessionRow, toMessage, toMessageId } from "./rows.ts";
import { conversationByNumberSql, conversationsInSessionSql } from "./statements/conversations.ts";
import { messagesBetweenSql } from "./statements/messages.ts";
import { clearAudienceSql, sessionByIdSql, setOriginSql } from "./statements/sessions.ts";
import { runningTurnSql } from "./statements/turns.ts";
import { piecesInOtherSessionsSql } from "./statements/views.ts";
import { isVisible } from "./visibility.ts";

export const conversationNotFound: Refused = refuse("not_found", "There is no such conversation.");
export const sessionNotFound: Refused = refuse("not_found", "There is no such session.");

export function reset(
  db: Db,
  input: { asker: Asker; conversation: number; newSession: NewSession; now: number },
): Opened | Refused {
  const { now } = input;
  const conversation = findConversationRow(db, input.asker, input.conversation);
  if (conversation === undefined) return conversationNotFound;
  const old = getSessionRow(db, conversation.session);
  const source = toChatSource(conversation);
  const owner = getSessionOwner(source, conversation.person ?? undefined);
  const session = insertSessionRow(db, input.newSession, {
    profile: conversation.profile,
    owner,
    now,
    source,
  });
  db.send(setOriginSql, old.origin, old.display_name, session.n);
  pointConversation(db, conversation, session, "new", now);
  recordDecision(db, conversation.n, now, "new", { from: old.id, to: session.id });
  return readOpened(db, conversation.n, { created: true, usesOldScope: false });
}

export function switchTo(
  db: Db,
  input: SessionRequest & { conversation: number; now: number },
): Opened | Refused {
  const conversation = findConversationRow(db, input.asker, input.conversation);
  if (conversation === undefined) return conversationNotFound;
  const target = findSessionRow(db, input.session);
  return target === undefined
    ? sessionNotFound
    : moveConversation(db, input.asker, conversation, target, input.now);
}

/** A session by its id, for any asker, unless it was removed. */
export function findSessionRow(db: Db, id: string): SessionRow | undefined {
  const found = db.get<SessionRow>(sessionByIdSql, id);
  return found?.removed_at === null ? found : undefined;
}

/** Points the conversation to the session, unless a reader of the conversation may not see it. */
export function moveConversation(
  db: Db,
  asker: Asker,
  conversation: ConversationRow,
  target: SessionRow,
  now: number,
  usesOldScope = false,
): Opened | Refused {
  const refused = checkReaders(asker, conversation, target);
  if (refused !== undefined) return refused;
  const routed = { created: false, usesOldScope };
  // An expired conversation no longer uses its session, although it still points to it.
  if (target.n === conversation.session && conversation.expired === null)
    return readOpened(db, conversation.n, routed);
  const from = getSessionRow(db, conversation.session);
  const busy = leaveChat(db, conversation, target, now);
  if (busy !== undefined) return busy;
  pointConversation(db, conversation, target, "switch", now);
  recordDecision(db, conversation.n, now, "switched", { from: from.id, to: target.id });
  return readOpened(db, conversation.n, routed);
}

/** All readers of a conversation, as an asker. */
export function getReaders(source: ChatSource, person: string | undefined): Asker {
  const chat = getChatAudience(source);
  return { person: person ?? chat ?? "", ...(chat !== undefined && { chat }) };
}

/** Refuses if a reader of this chat may not see the session. */
export function checkReaders(asker: Asker, chat: ChatRow, target: SessionRow): Refused | undefined {
  const readers = getReaders(toChatSource(chat), chat.person ?? undefined);
  if (isVisible(readers, target)) return undefined;
  // Only the owner learns that the session exists and is private.
  const own = !isEveryone(asker) && canSee({ person: asker.person }, { owner: target.owner });
  return own
    ? refuse(
        "not_allowed",
        "That session is private, and others read along in this chat. Resume it in a direct chat.",
      )
    : refuse("not_allowed", "That session belongs to someone else.");
}

/** A session of a chat that continues in private leaves the chat. */
export function leaveChat(db: Db, to: ChatRow, session: SessionRow, now: number): Refused | undefined {
  if (session.audience === null || getChatAudience(toChatSource(to)) !== undefined) return undefined;
  return makePrivate(db, session, now);
}

/**
 * Makes a session of a chat private: the chat does not see later messages. So the conversations of the chat leave it in
 * the same step, with their pending messages, and forks keep the blobs that they show.
 */
function makePrivate(db: Db, session: SessionRow, now: number): Refused | undefined {
  if (db.get(runningTurnSql, session.n) !== undefined) {
    return refuse(
      "session_busy",
      "An answer is being written in that session. Stop it or wait for it first.",
    );
  }
  db.send(clearAudienceSql, session.n);
  for (const conversation of db.all<ConversationRow>(conversationsInSessionSql, session.n)) {
    const source = toChatSource(conversation);
    if (getChatAudience(source) === undefined) continue;
    const owner = getSessionOwner(source, conversation.person ?? undefined);
    const fresh = insertSessionRow(
      db,
      { id: crypto.randomUUID(), kind: session.kind },
      { profile: conversation.profile, owner, now, source },
    );
    const { active_at } = conversation;
    pointConversation(db, conversation, fresh, "switch", active_at);
    recordDecision(db, conversation.n, now, "new", {
      reason: "its session became private",
      from: session.id,
      to: fresh.id,
    });
  }
  for (const { session: fork, from_seq, to_seq } of db.all<ForkPieceRow>(
    piecesInOtherSessionsSql,
    session.n,
  )) {
    const shown = db.rows(
      messagesBetweenSql,
      toMessageId(session.n, from_seq),
      toMessageId(session.n, to_seq),
    );
    for (const row of shown) if (row[4] !== null) recordBlobUses(db, fork, toMessage(row, session.id));
  }
  return undefined;
}

interface ForkPieceRow {
  session: number;
  from_seq: number;
  to_seq: number;
}

/** A conversation in which the asker may write. */
export function findConversationRow(db: Db, asker: Asker, n: number): ConversationRow | undefined {
  const row = db.get<ConversationRow>(conversationByNumberSql, n);
  return row !== undefined && canSpeakIn(asker, row) ? row : undefined;
}

export function canSpeakIn(asker: Asker, row: ChatRow): boolean {
  if (isEveryone(asker)) return true;
  const chat = getChatAudience(toChatSource(row));
  if (row.person === null) return asker.chat === chat;
  // Every member of a chat reads an answer there: it must be that chat's conversation.
  return row.person === asker.person && (asker.chat === undefined || asker.chat === chat);
}

export type ChatSource = Pick<Source, "platform" | "chatType" | "chatId" | "threadId">;

/** The chat of an existing or new conversation, and its person. */
export type ChatRow = Pick<ConversationRow, "platform" | "chat_type" | "chat_id" | "thread_id" | "person">;

export function toChatSource(row: ChatRow): ChatSource {
  return {
    platform: row.platform,
    chatType: row.chat_type,
    chatId: row.chat_id,
    ...(row.thread_id !== "" && { threadId: row.thread_id }),
  };
}
