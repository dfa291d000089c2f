import type { Opened } from "../../core/conversation.ts";
import { isRefused, type Refused } from "../../core/refusal.ts";
import type { Attach } from "../../ports/conversation-store.ts";
import type { SessionRequest } from "../../ports/store-request.ts";
import type { Db } from "./connection.ts";
import { requireObject } from "./json-columns.ts";
import {
  type ConversationMatch,
  insertConversationRow,
  lookUpConversation,
  readOpened,
  recordDecision,
} from "./routing.ts";
import type { SessionRow } from "./rows.ts";
import * as sql from "./sql.ts";
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
  // Its agent would be made from what cannot be read.
  if (target.config !== null)
    requireObject(target.config, { table: "sessions", column: "config", row: target.handle });
  const place = lookUpConversation(db, input);
  const { found } = place;
  if (found === undefined) return attachNewConversation(db, input, place, target);
  if (!canSpeakIn(asker, found)) return conversationNotFound;
  const moved = moveConversation(db, asker, found, target, now, found.account !== place.account);
  if (isRefused(moved) || moved.session.endedAt === undefined) return moved;
  // Closed by hand, while the conversation went on pointing there.
  db.run(sql.reopenSessionSql, target.n);
  return readOpened(db, found.n, moved);
}

/** A conversation that begins with a session that is there already. */
function attachNewConversation(
  db: Db,
  input: SessionRequest & Attach,
  place: ConversationMatch,
  target: SessionRow,
): Opened | Refused {
  const { asker, source, profile, now } = input;
  const person = place.person();
  const here: ChatRow = {
    platform: source.platform,
    chat_type: source.chatType,
    chat_id: source.chatId,
    thread_id: source.threadId ?? "",
    person: person ?? null,
  };
  if (!canSpeakIn(asker, here)) return conversationNotFound;
  const refused = checkReaders(asker, here, target) ?? leaveChat(db, here, target, now);
  if (refused !== undefined) return refused;
  db.run(sql.insertProfileSql, profile, now);
  const n = insertConversationRow(db, input, place.account, person, target.n, now);
  recordDecision(db, n, now, "created", { to: target.id });
  db.run(sql.reopenSessionSql, target.n);
  return readOpened(db, n, { created: false, usesOldScope: false });
}
