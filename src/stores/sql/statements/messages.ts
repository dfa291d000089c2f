import type { Statement } from "../db.ts";

export const insertMessageSql =
  "insert into messages (id, at, role, text, parts, meta) values (?, ?, ?, ?, ?, ?)";
export const messagesBetweenSql = `
select id, at, role, text, parts, meta from messages where id between ? and ? order by id`;
export const messageByIdSql = "select at, role, text from messages where id = ?";
/** The first user message in a range: role 0. */
export const firstUserTextSql: Statement = (dialect) => `
select ${dialect.startOf("text", 200)} as text from messages where id between ? and ? and role = 0 order by id limit 1`;
/** The last message of a person in a range; a proactive one is from the agent itself. */
export const lastUserMessageSql: Statement = (dialect) => `
select id from messages where id between ? and ? and role = 0
  and not case when ${dialect.isJson("meta")} then ${dialect.isJsonTrue("meta", "origin.proactive")} else false end
order by id desc limit 1`;
export const messageUsingBlobSql: Statement = (dialect) => `
select 1 from messages where id between ? and ? and parts is not null and ${dialect.contains("parts", "?")}`;
/** Messages, those of people (role 0), and calls of tools. */
export const messageActivitySql: Statement = (dialect) => `
select count(*) as messages, count(*) filter (where role = 0) as humans,
  cast(coalesce(sum(case when ${dialect.isJson("meta")} then ${dialect.jsonLength("meta", "toolCalls")} end), 0) as bigint) as calls
from messages where id between ? and ? and at >= ?`;
export const rolesBetweenSql = "select id, role from messages where id between ? and ? order by id limit ?";
