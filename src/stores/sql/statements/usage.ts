/** The usage of a session, by quarter of an hour, purpose and model. */
export const sessionUsageSql = "select * from usage where session = ? order by at, purpose, provider, model";
export const usageRowSql = `
select * from usage where session = ? and at = ? and purpose = ? and provider = ? and model = ?`;
export const setUsageRowSql = `
insert or replace into usage (session, at, purpose, provider, model, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, reasoning_tokens, cost_usd, cost_status, cost_source)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const deleteSessionUsageSql = "delete from usage where session = ?";
