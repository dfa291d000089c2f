export const homesSql = "select platform, home from homes order by platform";
export const upsertHomeSql = `
insert into homes (platform, home, at) values (?, ?, ?)
on conflict (platform) do update set home = excluded.home, at = excluded.at`;
export const deleteHomeSql = "delete from homes where platform = ?";
