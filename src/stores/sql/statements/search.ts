export const unindexedSessionsSql =
  "select n, indexed_seq, next_seq from sessions where indexed_seq < next_seq - 1 limit ?";
/** [id, role, text] of messages that are not indexed, in order: the last row shows how far the index reaches. */
export const unindexedMessagesSql =
  "select id, role, text from messages where id between ? and ? order by id limit ?";
export const setIndexedSeqSql = "update sessions set indexed_seq = ? where n = ?";
export const clearIndexedSeqsSql = "update sessions set indexed_seq = 0 where indexed_seq > 0";
/** The same, the newest first. */
export const newestUnindexedMessagesSql = `
select id, role, text from messages where id between ? and ? order by id desc limit ?`;
/** The numbers of the sessions under these conditions, and of those that they show. Needs their values twice. */
export function buildSearchScopeSql(conditions: readonly string[]): string {
  const condition = conditions.join(" and ");
  return `
select s.n from sessions s where ${condition}
union select p.piece_session from pieces p join sessions s on s.n = p.session and s.version = p.version
where p.piece_session <> p.session and ${condition}`;
}
/** The sessions with messages that are not indexed, of those that a query selects by number. */
export function buildUnindexedInScopeSql(numbers: string): string {
  return `
select s.n, s.indexed_seq from sessions s where s.indexed_seq < s.next_seq - 1 and s.n in (${numbers})
order by s.last_at desc`;
}
export function buildCountUnindexedSql(numbers: string): string {
  return `
select cast(coalesce(sum(s.next_seq - 1 - s.indexed_seq), 0) as bigint) as n from sessions s
where s.indexed_seq < s.next_seq - 1 and s.n in (${numbers})`;
}
