import type { Expire, Expired, Silent } from "../../core/conversation.ts";
import type { Db } from "./connection.ts";
import { decide, dueReset, keyOf, sessionRow } from "./routing.ts";
import { type ConversationRow, toConversation, toSession } from "./rows.ts";
import * as sql from "./sql.ts";

/**
 * The conversation stays pointed where it is, so that nothing is made for a chat in which perhaps nobody speaks again.
 * The next message there starts afresh for this reason, as if the policy had spoken only then.
 */
export function expire(db: Db, input: Expire): Expired {
  const { now, reset } = input;
  const conversation = db.get<ConversationRow>(sql.conversationByNumber, input.conversation);
  if (conversation === undefined || conversation.expired !== null) return { expired: false };
  const reason = dueReset(db, input, conversation);
  if (reason === undefined) return { expired: false };
  const before = sessionRow(db, conversation.session);
  db.run("update conversations set expired = ? where n = ?", reason, conversation.n);
  db.run(sql.endIfLeft, now, reason, before.n);
  decide(db, conversation.n, now, "expired", {
    reason,
    activeAt: conversation.active_at,
    reset,
    from: before.id,
  });
  const session = sessionRow(db, before.n);
  const ended = before.ended_at === null && session.ended_at !== null;
  return { expired: true, reason, session: toSession(session), ended };
}

export function limitActivity(db: Db, { now }: { now: number }): void {
  db.run(sql.limitActivity, now, now);
}

export function silent(db: Db, input: { before: number; after?: number; limit: number }): Silent[] {
  return db
    .all<ConversationRow & { session_id: string }>(
      sql.silentConversations,
      input.after ?? 0,
      input.before,
      input.limit,
    )
    .map((row) => ({
      conversation: toConversation(row, keyOf(db, row), row.session_id),
      platform: row.platform,
      chatType: row.chat_type,
    }));
}
