export const holdsInSessionSql = "select name, until from holds where session = ? order by until";
export const upsertHoldSql = `
insert into holds (session, name, until) values (?, ?, ?)
on conflict (session, name) do update set until = excluded.until`;
export const deleteHoldSql = "delete from holds where session = ? and name = ?";
