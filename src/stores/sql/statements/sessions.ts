import type { Statement } from "../db.ts";

export const sessionByNumberSql = "select * from sessions where n = ?";
export const sessionByIdSql = "select * from sessions where id = ?";
export const readableSessionSql =
  "select n, id, owner, audience, removed_at, next_seq, version from sessions where id = ?";
export const sessionIdTakenSql = "select 1 from sessions where id = ?";
export const sessionByHandleSql = "select * from sessions where handle = ?";
export const insertSessionSql = `
insert into sessions (id, kind, profile, owner, audience, title, platform, origin, display_name, cwd,
  model, provider, base_url, config, created_at, last_at, parent)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const setHandleSql = "update sessions set handle = ? where n = ?";
export const insertProfileSql =
  "insert into profiles (name, created_at) values (?, ?) on conflict do nothing";
export const growSessionSql: Statement = (dialect) => `
update sessions set next_seq = next_seq + ?, last_at = ${dialect.greatest("last_at", "?")}, human_count = human_count + ?,
  tool_call_count = tool_call_count + ? where n = ?`;
/** Grows the session and takes its lease in one statement, if it is free. */
export const growAndClaimSessionSql: Statement = (dialect) => `
update sessions set next_seq = next_seq + ?, last_at = ${dialect.greatest("last_at", "?")}, human_count = human_count + ?,
  tool_call_count = tool_call_count + ?, lease_holder = ?, fence = fence + 1, origin = ?, display_name = ?,
  ended_at = null, end_reason = null
where n = ?`;
/** Grows the session and releases its lease in one statement. */
export const growAndReleaseSessionSql: Statement = (dialect) => `
update sessions set next_seq = next_seq + ?, last_at = ${dialect.greatest("last_at", "?")}, human_count = human_count + ?,
  tool_call_count = tool_call_count + ?, lease_holder = null where n = ?`;
export const takeSessionLeaseSql = "update sessions set lease_holder = ?, fence = fence + 1 where n = ?";
/** Columns that a request can set on their own. */
export type SettableSessionColumn =
  | "cwd"
  | "model"
  | "provider"
  | "base_url"
  | "config"
  | "archived_at"
  | "ended_at"
  | "end_reason";
export function buildSetSessionColumnSql(column: SettableSessionColumn): string {
  return `update sessions set ${column} = ? where n = ?`;
}
export const setTitleSql = "update sessions set title = ? where n = ?";
export const sessionByTitleSql = "select n from sessions where owner = ? and title = ?";
export const otherTitlesSql = "select title from sessions where owner = ? and title is not null and n <> ?";
export const setViewVersionSql = "update sessions set version = ? where n = ?";
export const clearAudienceSql = "update sessions set audience = null where n = ?";
export const copyOriginSql =
  "update sessions set audience = ?, platform = ?, origin = ?, display_name = ? where n = ?";
export const setImportedSessionSql = `
update sessions set audience = ?, platform = ?, origin = ?, display_name = ?, ended_at = ?, end_reason = ?,
  archived_at = ? where n = ?`;
export const setOriginSql = "update sessions set origin = ?, display_name = ? where n = ?";
/** The first reason to end a session stays. An expired conversation does not keep it open. */
export const endUnreferencedSessionSql = `
update sessions set ended_at = coalesce(ended_at, ?), end_reason = coalesce(end_reason, ?)
where n = ? and not exists (
  select 1 from conversations where session = sessions.n and expired is null)`;
export const reopenSessionSql = "update sessions set ended_at = null, end_reason = null where n = ?";
export const activeWorkSql = `
select
  case when exists (select 1 from turns where session = ? and state = 'running') then 1 else 0 end as turn,
  case when exists (select 1 from inbox where conversation = ? and state = 0) then 1 else 0 end as waiting,
  case when exists (select 1 from holds where session = ? and until > ?) then 1 else 0 end as held,
  case when exists (select 1 from processes where session = ? and state <> 'ended' and background = 1) then 1 else 0 end
    as process`;
/** The sums of these rows, and the values of the newest answer. */
export const setCountersSql = `
update sessions set input_tokens = ?, output_tokens = ?, cache_read_tokens = ?, cache_write_tokens = ?,
  reasoning_tokens = ?, last_prompt_tokens = ?, cost_usd = ?, cost_status = ?, cost_source = ?, model = ?,
  provider = ?, base_url = ? where n = ?`;
export const setFlushedSeqSql = "update sessions set flushed_seq = ? where n = ?";
