import { ROLES } from "../../../core/message.ts";
import type { Statement } from "../db.ts";
import type { Dialect } from "../dialect.ts";

const USER = ROLES.indexOf("user");

/** On a messages row called `m`: a readable message of a person that does not name its sender. */
function buildUnattributedCondition(dialect: Dialect): string {
  return `m.role = ${USER} and (m.text is not null or m.parts is not null) and (m.meta is null
    or case when ${dialect.isJson("m.meta")} then ${dialect.jsonText("m.meta", "origin.userId")} is null end)`;
}

export const unattributedMessageSql: Statement = (dialect) => `
select 1 from messages m where m.id = ? and ${buildUnattributedCondition(dialect)}`;
/** In a session of another owner. */
export const unattributedElsewhereSql: Statement = (dialect) => `
select 1 from messages m join sessions s on s.n = m.id >> 24
where m.id = ? and s.owner <> ? and ${buildUnattributedCondition(dialect)}`;
/** Only of a session that a chat owns. `substr`, because `like` ignores the case in some engines. */
export const turnInChatSql = `
select t.session, t.target from turns t join sessions s on s.n = t.session
where t.n = ? and substr(s.owner, 1, 5) = 'chat:'`;
export const userMessageSql: string = `select 1 from messages where id = ? and role = ${USER}`;
export const laterInputSql = "select 1 from inbox where n > ? and turn = ? and seq = ? limit 1";
export const messageMetaSql = "select meta from messages where id = ?";
export const setMessageMetaSql = "update messages set meta = ? where id = ?";
