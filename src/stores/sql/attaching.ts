import type { Opened } from "../../core/conversation.ts";
import { isRefused, type Refused } from "../../core/refusal.ts";
import type { Attach } from "../../ports/conversation-store.ts";
import type { SessionRequest } from "../../ports/store-request.ts";
import type { Db } from "./db.ts";
import { requireObject } from "./json-columns.ts";
import {
  type ConversationMatch,
  insertConversationRow,
  lookUpConversation,
  readOpened,
  recordDecision,
  resolveConversationPerson,
} from "./routing.ts";
import type { SessionRow } from "./rows.ts";
import { insertProfileSql, reopenSessionSql } from "./statements/sessions.ts";
import {
  type ChatRow,
  canSpeakIn,
  checkReaders,
  conversationNotFound,
  findSessionRow,
  leaveChat,
  moveConversation,
  sessionNotFound,
} from "./switching.ts";

export function attach(db: Db, input: SessionRequest & Attach): Opened | Refused {
  const { asker, now } = input;
  const target = findSessionRow(db, input.session);
  if (target === undefined) return sessionNotFound;
  // The session's agent is built from this configuration, so it must be readable.
  if (target.config !== null)
    requireObject(target.config, { table: "sessions", column: "config", row: target.handle });
  const match = lookUpConversation(db, input);
  const { found } = match;
  if (found === undefined) return attachNewConversation(db, input, match, target);
  if (!canSpeakIn(asker, found)) return conversationNotFound;
  const moved = moveConversation(db, asker, found, target, now, found.account !== match.account);
  if (isRefused(moved) || moved.session.endedAt === undefined) return moved;
  // The session was closed by hand while the conversation still pointed to it.
  db.send(reopenSessionSql, target.n);
  return readOpened(db, found.n, moved);
}

/** Creates a conversation that points to an existing session. */
function attachNewConversation(
  db: Db,
  input: SessionRequest & Attach,
  match: ConversationMatch,
  target: SessionRow,
): Opened | Refused {
  const { asker, source, profile, now } = input;
  const person = resolveConversationPerson(db, input, match);
  const chat: ChatRow = {
    platform: source.platform,
    chat_type: source.chatType,
    chat_id: source.chatId,
    thread_id: source.threadId ?? "",
    person: person ?? null,
  };
  if (!canSpeakIn(asker, chat)) return conversationNotFound;
  const refused = checkReaders(asker, chat, target) ?? leaveChat(db, chat, target, now);
  if (refused !== undefined) return refused;
  db.send(insertProfileSql, profile, now);
  const n = insertConversationRow(db, input, match.account, person, target.n, now);
  recordDecision(db, n, now, "created", { to: target.id });
  db.send(reopenSessionSql, target.n);
  return readOpened(db, n, { created: false, usesOldScope: false });
}
