import { ROLES } from "../../../core/message.ts";
import type { Statement } from "../db.ts";
import type { Dialect } from "../dialect.ts";
import { SEQS_PER_SESSION } from "../rows.ts";

const USER = ROLES.indexOf("user");

/** The conversations of the person, and those in which one of their accounts is the participant. */
export const personConversationsSql = `
select * from conversations where person = ? or account in (select n from accounts where person = ?) order by n`;
/** All in the person's own conversations and direct chats. */
export const personInboxSql = `
select i.* from inbox i where i.conversation in (
    select n from conversations where person = ? or account in (select n from accounts where person = ?))
  or exists (select 1 from accounts a where a.person = ? and a.platform = i.platform
    and i.chat_id in (a.user_id, a.alt_id))`;
export const pendingInboxSql = "select * from inbox where state = 0";
export const unansweredInboxSql = "select * from inbox where state = 4";

/** The rows of the sessions of an owner, and those whose target contains one of the texts. */
export function selectTargeted(
  dialect: Dialect,
  table: "turns" | "deliveries" | "processes",
  texts: number,
): string {
  const mentioned = ` or ${dialect.contains("target", "?")}`.repeat(texts);
  return `
select * from (
  select t.*, case when t.session in (select n from sessions where owner = ?) then 1 else 0 end as owned from ${table} t
) as marked where owned = 1${mentioned} order by n`;
}

export const runningTurnOwnersSql = `
select t.runner, t.target, s.owner from turns t join sessions s on s.n = t.session where t.state = 'running'`;
export const openProcessOwnersSql: Statement = (dialect) => `
select p.id, p.target, s.owner from processes p ${dialect.joinInOrder} sessions s on s.n = p.session
where p.state <> 'ended'`;
/** Messages in sessions of others that store this account as sender. */
export const attributedElsewhereSql: Statement = (dialect) => `
select m.id from messages m where m.id > ? and m.id <= ? and m.role = ${USER} and m.meta is not null
  and case when ${dialect.isJson("m.meta")} then ${dialect.jsonText("m.meta", "origin.userId")} in (?, ?)
    and ${dialect.jsonText("m.meta", "origin.platform")} = ? end
  and exists (select 1 from sessions s where s.n = m.id >> 24 and s.owner <> ?)`;
export const decisionsOfConversationSql =
  "select at, decision from decisions where conversation = ? order by n";
export const ownCountsSql: string = `
select count(*) filter (where removed_at is null) as sessions, cast(coalesce(sum((
  select count(*) from messages
  where id between s.n * ${SEQS_PER_SESSION} and s.n * ${SEQS_PER_SESSION} + ${SEQS_PER_SESSION - 1})), 0) as bigint) as messages
from sessions s where owner = ?`;
export const ownBlobsSql =
  "select distinct hash from blob_uses where session in (select n from sessions where owner = ?)";
