import type { Statement } from "../db.ts";

/** With the profile: each profile is a separate bot, and two bots in one chat see the same message ids. */
export const inboxNumberByMessageIdSql = `
select n from inbox where profile = ? and platform = ? and chat_id = ? and message_id = ?`;
export const insertInboxSql = `
insert into inbox (profile, platform, chat_id, message_id, conversation, at, state, runner, message, source, turn, seq)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
/** With the columns that a turn needs, from rows that are read anyway. */
export const pendingInSessionSql = `
select i.n, i.conversation, i.at, i.platform, i.runner, i.message, i.source, c.settings, c.fresh_reason, c.fresh_had_activity,
  c.fresh_previous, c.note_due, c.notice_due from conversations c
join inbox i on i.conversation = c.n and i.state = 0
where c.session = ? order by i.n`;
export const pendingMessagesSql = `
select c.session, i.message from inbox i join conversations c on c.n = i.conversation where i.state = 0`;
export const sessionsWithPendingSql = `
select s.id, i.runner, i.platform from inbox i join conversations c on c.n = i.conversation
join sessions s on s.n = c.session where i.state = 0 order by +i.n`;
/** After the claim, the session has the text and the turn has the target. */
export const claimInboxSql = `
update inbox set state = 1, turn = ?, seq = ?, message = null, source = null where n = ?`;
export const finishInboxSql = "update inbox set state = 2 where turn = ? and state = 1";
export const turnInputsSql = "select seq from inbox where turn = ? and state = 1 order by seq";
export const pendingInConversationSql =
  "select n, message from inbox where conversation = ? and state = 0 order by n";
export const cancelInboxSql = `
update inbox set state = 3, message = null, source = null where n = ? and state = 0`;
export const cancelConversationInboxSql = `
update inbox set state = 3, message = null, source = null where conversation = ? and state = 0`;
export const countPendingSql =
  "select count(*) as n, max(n) as newest from inbox where conversation = ? and state = 0";
/** A message that was refused because of a full queue after this one. */
export const refusedSinceSql = "select 1 from inbox where conversation = ? and state = 5 and n > ? limit 1";
export const unansweredCommandsSql = `
select n, message_id, message, source, runner from inbox where platform = ? and state = 4 order by n`;
/** The text is no longer needed. */
export const finishCommandSql =
  "update inbox set state = 2, message = null, source = null where n = ? and state = 4";
export const inboxByMessageIdSql = `
select n, conversation, state, message from inbox
where profile = ? and platform = ? and chat_id = ? and message_id = ?`;
/** Of all profiles, by the id on the platform. */
export const inboundByMessageIdSql = `
select * from inbox where profile in (select name from profiles)
  and platform = ? and chat_id = ? and message_id = ? order by n`;
/** By the position in a session. Without an index: only people run this query. */
export const inboundBySeqSql = `
select * from inbox where seq = ? and turn in (select n from turns where session = ?) order by n`;
/** A pending message of a session that refers to this blob. */
export const pendingUsingBlobSql: Statement = (dialect) => `
select 1 from inbox i join conversations c on c.n = i.conversation
where i.state = 0 and c.session = ? and ${dialect.contains("i.message", "?")}`;
export const recordEditSql = "update inbox set edited_at = ? where n = ?";
export const recordWithdrawalSql = "update inbox set withdrawn_at = ? where n = ?";
export const editPendingSql = "update inbox set message = ? where n = ? and state = 0";
export const setCursorSql = `
insert into cursors (name, value, at) values (?, ?, ?)
on conflict (name) do update set value = excluded.value, at = excluded.at`;
export const cursorByNameSql = "select value from cursors where name = ?";
export const claimedInputsSql = `
select n, turn, seq from inbox where n > ? and turn is not null and seq is not null order by n limit ?`;
