export const insertFlushSql = "insert into flushes (session, up_to, asked_at) values (?, ?, ?)";
const selectFlushSql = `
select f.*, s.id as session_id, s.owner, s.audience, s.profile, s.removed_at from flushes f join sessions s on s.n = f.session`;
export const openFlushesSql: string = `${selectFlushSql} where f.done_at is null order by f.n`;
export const flushByNumberSql: string = `${selectFlushSql} where f.n = ?`;
export const claimFlushSql = "update flushes set runner = ?, attempts = attempts + 1 where n = ?";
export const finishFlushSql = "update flushes set done_at = ? where n = ?";
