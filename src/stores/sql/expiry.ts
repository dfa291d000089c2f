import type { Expire, Expired, IdleConversation } from "../../core/conversation.ts";
import type { Db } from "./db.ts";
import { buildConversationKey, findDueReset, getSessionRow, recordDecision } from "./routing.ts";
import { type ConversationRow, toConversation, toSession } from "./rows.ts";
import {
  clampActivitySql,
  conversationByNumberSql,
  expireConversationSql,
  idleConversationsSql,
} from "./statements/conversations.ts";
import { endUnreferencedSessionSql } from "./statements/sessions.ts";

/**
 * The conversation keeps its session, so that no session is created for a chat without further messages. The next message
 * resets it for this reason, as if the policy had applied only then.
 */
export function expireConversation(db: Db, input: Expire): Expired {
  const { now, reset } = input;
  const conversation = db.get<ConversationRow>(conversationByNumberSql, input.conversation);
  if (conversation === undefined || conversation.expired !== null) return { expired: false };
  const reason = findDueReset(db, input, conversation);
  if (reason === undefined) return { expired: false };
  const before = getSessionRow(db, conversation.session);
  db.send(expireConversationSql, reason, conversation.n);
  db.send(endUnreferencedSessionSql, now, reason, before.n);
  recordDecision(db, conversation.n, now, "expired", {
    reason,
    activeAt: conversation.active_at,
    reset,
    from: before.id,
  });
  const session = getSessionRow(db, before.n);
  const ended = before.ended_at === null && session.ended_at !== null;
  return { expired: true, reason, session: toSession(session), ended };
}

export function clampActivity(db: Db, { now }: { now: number }): void {
  db.send(clampActivitySql, now, now);
}

export function listIdle(
  db: Db,
  input: { before: number; after?: number; limit: number },
): IdleConversation[] {
  return db
    .all<ConversationRow & { session_id: string }>(
      idleConversationsSql,
      input.after ?? 0,
      input.before,
      input.limit,
    )
    .map((row) => ({
      conversation: toConversation(row, buildConversationKey(db, row), row.session_id),
      platform: row.platform,
      chatType: row.chat_type,
    }));
}
