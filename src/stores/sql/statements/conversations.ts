import type { Statement } from "../db.ts";

export const conversationByNumberSql = "select * from conversations where n = ?";
/** The oldest match wins: settings that changed later do not move a conversation. */
export const conversationByIdentitySql = `
select * from conversations
where profile = ? and platform = ? and chat_type = ? and chat_id = ? and thread_id = ?
  and account in (0, ?)
order by n limit 1`;
/**
 * The index contains only conversations that have not expired; SQLite must not start with the sessions.
 */
export const idleConversationsSql: Statement = (dialect) => `
select c.*, s.id as session_id from conversations c join sessions s on s.n = c.session
where c.expired is null and c.n > ? and c.active_at < ? and ${dialect.withoutIndex("s.next_seq")} > 1
  and ${dialect.withoutIndex("s.ended_at")} is null
order by c.n limit ?`;
export const clampActivitySql =
  "update conversations set active_at = ? where expired is null and active_at > ?";
/** A direct chat has only the shared conversation. */
export const sharedConversationSql = `
select * from conversations
where profile = ? and platform = ? and chat_type = ? and chat_id = ? and thread_id = ? and account = 0`;
/** Of all profiles: an index that starts with the profile serves this, too. */
export const conversationsInChatSql = `
select * from conversations
where profile in (select name from profiles) and platform = ? and chat_type = ? and chat_id = ? and thread_id = ?
order by n`;
export const conversationsWithKeySql = `
select * from conversations where profile = ? and platform = ? and chat_type = ? and chat_id = ? order by n`;
export const conversationsInSessionSql = "select * from conversations where session = ? order by n";
export const conversationsBySessionIdSql = `
select c.* from conversations c join sessions s on s.n = c.session where s.id = ? order by c.n`;
/** What a list of conversations can be narrowed to. */
export const CONVERSATION_CONDITIONS = {
  person: "person = ?",
  /** The conversations of a chat have no person. */
  personOrChat: "(person = ? or person is null)",
  platform: "platform = ?",
} as const;
export function buildConversationListSql(conditions: readonly string[]): string {
  return `select * from conversations where ${["n > ?", ...conditions].join(" and ")} order by n limit ?`;
}
export const insertConversationSql = `
insert into conversations (profile, platform, chat_type, chat_id, thread_id, account, person,
  groups_per_user, threads_per_user, session, active_at, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const expireConversationSql = "update conversations set expired = ? where n = ?";
export const setSettingsSql = "update conversations set settings = ? where n = ?";
export const clearNoteDueSql = "update conversations set note_due = 0 where n = ?";
export const clearNoticeDueSql = "update conversations set notice_due = 0 where n = ?";
export const touchConversationSql: Statement = (dialect) => `
update conversations set active_at = ${dialect.greatest("active_at", "?")} where n = ?`;
export const touchSessionConversationsSql: Statement = (dialect) => `
update conversations set active_at = ${dialect.greatest("active_at", "?")} where session = ?`;
export const pointConversationSql = `
update conversations set session = ?, active_at = ?, fresh_reason = ?, fresh_had_activity = ?,
  fresh_previous = ?, note_due = ?, notice_due = ?, expired = null where n = ?`;
export const insertDecisionSql = `
insert into decisions (conversation, at, decision, reason, active_at, idle_before, daily_before, from_session, to_session)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
