export const leaseByNameSql = "select * from leases where name = ?";
/** With the runner that holds it. */
export const leasesSinceSql = `
select l.name, l.until, l.about, r.* from leases l join runners r on r.id = l.runner where l.until > ? order by l.name`;
export const renewLeaseSql = "update leases set until = ?, about = coalesce(?, about) where name = ?";
export const takeLeaseSql = `
insert into leases (name, runner, fence, until, about) values (?, ?, ?, ?, ?)
on conflict (name) do update set runner = excluded.runner, fence = excluded.fence, until = excluded.until,
  about = excluded.about`;
/** The row stays: its fence must keep rising. */
export const releaseLeaseSql = `
update leases set runner = null, until = 0, about = null where name = ? and runner = ?`;
export const releaseLeasesSql = "update leases set runner = null, until = 0, about = null where runner = ?";
