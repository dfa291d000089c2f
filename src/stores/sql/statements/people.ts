import { OWNER } from "../../../core/owner.ts";

export const personByIdSql = "select * from people where id = ?";
export const personByAccountIdSql = `
select p.* from accounts a join people p on p.id = a.person
where a.platform = ? and (a.user_id = ? or a.alt_id = ?) limit 1`;
export const insertPersonSql = "insert into people (id, created_at) values (?, ?) on conflict do nothing";
/** The same role again keeps its time. */
export const setRoleSql = `
update people set role_since = case when role is not distinct from ? then role_since else ? end, role = ? where id = ?`;
/** The owner of the home and all members. */
export const grantsSql: string = `
select * from people where role = 'member' union select * from people where id = '${OWNER}'`;
export const deletePersonSql = "delete from people where id = ?";
