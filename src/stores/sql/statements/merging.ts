/** Statements for accounts that turn out to be one, and for accounts that move to another person. */
export const conversationsByAccountSql = "select * from conversations where account = ? order by n";
export const conversationOfAccountSql = `
select * from conversations
where profile = ? and platform = ? and chat_type = ? and chat_id = ? and thread_id = ? and account = ?`;
export const setConversationAccountSql = "update conversations set account = ? where n = ?";
export const movePendingInboxSql = "update inbox set conversation = ? where conversation = ? and state = 0";
export const moveRunningTurnsSql =
  "update turns set conversation = ? where conversation = ? and state = 'running'";
export const conversationsByPersonSql = "select * from conversations where person = ? order by n";
export const runningConversationsSql = "select conversation from turns where state = 'running'";
export const setConversationPersonSql = "update conversations set person = ? where n = ?";

export const moveSessionsSql = "update sessions set owner = ? where owner = ?";
export const moveConversationsSql = "update conversations set person = ? where person = ?";
export const moveApprovalsSql = "update approvals set person = ? where person = ?";
export const movePairingsSql = "update pairings set person = ? where person = ?";
/** Only a person without a role gets one; the owner needs none. */
export const moveRoleSql = `
update people set (role, role_since) = (select role, role_since from people where id = ?)
where id = ? and role is null and id <> ?`;
/** Of two rules for one pattern, the later one counts; at the same time, the denial. */
export const copyApprovalRulesSql = `
insert into allowed (person, pattern, folder, session, at, never)
select ?, pattern, folder, session, at, never from allowed where person = ?
on conflict (person, pattern, folder, session) do update set at = excluded.at, never = excluded.never
where (excluded.at, excluded.never) > (allowed.at, allowed.never)`;
export const titlesOfBothSql = `
select n, owner, title from sessions where owner in (?, ?) and title is not null order by n`;
