const selectApprovalSql =
  "select a.*, s.id as session_id from approvals a join sessions s on s.n = a.session";
export const approvalByNumberSql: string = `${selectApprovalSql} where a.n = ?`;
export const openApprovalsSql: string = `${selectApprovalSql} where a.person = ? and a.answer is null order by a.n`;
/** The first open or answered request of an earlier attempt with the same text. */
export const earlierApprovalSql: string = `${selectApprovalSql}
where a.session = ? and a.turn = ? and a.attempt < ? and a.request = ?
  and (a.answer <> 'expired' or (a.answer is null and a.deadline >= ?)) order by a.n limit 1`;
export const insertApprovalSql = `
insert into approvals (session, conversation, person, turn, attempt, target, request, asked_at, deadline)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const setApprovalAttemptSql = "update approvals set attempt = ? where n = ?";
export const answerApprovalSql = "update approvals set answer = ?, answered_at = ? where n = ?";
export const setApprovalDeadlineSql = "update approvals set deadline = ? where n = ? and answer is null";
export const expireTurnApprovalsSql = `
update approvals set answer = 'expired', answered_at = ? where session = ? and turn = ? and answer is null`;
export const markApprovalSentSql = "update approvals set is_put = 1 where n = ?";
/** The last answer counts. */
export const upsertApprovalRuleSql = `
insert into allowed (person, pattern, folder, session, at, never) values (?, ?, ?, ?, ?, ?)
on conflict (person, pattern, folder, session) do update set at = excluded.at, never = excluded.never`;
/** Of always (0) and never (1), in any folder, the older one. */
export const deleteOppositeApprovalRuleSql =
  "delete from allowed where person = ? and pattern = ? and session = 0 and never = ?";
/** In every session (0) and in this one; null without a rule. */
export const approvalRuleSql = `
select max(never) as never from allowed where person = ? and pattern = ? and (never = 1 or folder = ?)
  and (session = 0 or session = (select n from sessions where id = ?))`;
export const approvalRulesSql = `
select a.pattern, a.folder, s.id as session, a.at, a.never from allowed a left join sessions s on s.n = a.session
where a.person = ? order by a.at, a.pattern, a.folder, a.session`;
export const deleteApprovalRuleSql =
  "delete from allowed where person = ? and pattern = ? and folder = ? and session = ?";
/** Deletes the permissions of one session with it. */
export const deleteSessionApprovalRulesSql = "delete from allowed where session = ? and session > 0";
export const deletePersonApprovalRulesSql = "delete from allowed where person = ?";
/** All of them, for the data of a person. */
export const allApprovalsSql =
  "select a.*, s.id as session_id from approvals a join sessions s on s.n = a.session order by a.n";
