/** The usage of a session, by quarter of an hour, purpose and model. */
export const sessionUsageSql = "select * from usage where session = ? order by at, purpose, provider, model";
export const usageRowSql = `
select * from usage where session = ? and at = ? and purpose = ? and provider = ? and model = ?`;
export const setUsageRowSql = `
insert into usage (session, at, purpose, provider, model, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, reasoning_tokens, cost_usd, cost_status, cost_source)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (session, at, purpose, provider, model) do update set input_tokens = excluded.input_tokens,
  output_tokens = excluded.output_tokens, cache_read_tokens = excluded.cache_read_tokens,
  cache_write_tokens = excluded.cache_write_tokens, reasoning_tokens = excluded.reasoning_tokens,
  cost_usd = excluded.cost_usd, cost_status = excluded.cost_status, cost_source = excluded.cost_source`;
/** The usage since a time in the sessions under these conditions. */
export function buildUsageSinceSql(conditions: readonly string[]): string {
  return `
select u.* from usage u join sessions s on s.n = u.session where ${[...conditions, "u.at >= ?"].join(" and ")}`;
}
export const deleteSessionUsageSql = "delete from usage where session = ?";
