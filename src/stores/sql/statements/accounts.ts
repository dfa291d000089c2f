/** The person of an account, for every inbound message. */
const personByAccountSql = `
select a.alt_id, a.person, coalesce(a.name, p.name) as name, p.role
from accounts a join people p on p.id = a.person where a.platform = ?`;
export const personByUserIdSql: string = `${personByAccountSql} and a.user_id = ?`;
export const personByAltIdSql: string = `${personByAccountSql} and a.alt_id = ?`;
export const accountByUserIdSql = "select * from accounts where platform = ? and user_id = ?";
export const accountByAltIdSql = "select * from accounts where platform = ? and alt_id = ?";
export const accountByNumberSql = "select * from accounts where n = ?";
export const accountsByPersonSql = "select * from accounts where person = ? order by n";
export const personAccountSql = "select 1 from accounts where person = ? limit 1";
export const insertAccountSql = `
insert into accounts (platform, user_id, alt_id, person, name, created_at) values (?, ?, ?, ?, ?, ?)`;
export const clearUserIdSql = "update accounts set user_id = null where n = ?";
export const setAccountIdsSql = "update accounts set user_id = ?, alt_id = ? where n = ?";
export const setAccountPersonSql = "update accounts set person = ? where n = ?";
export const setMergedAccountSql = "update accounts set user_id = ?, alt_id = ?, person = ? where n = ?";
export const deleteAccountSql = "delete from accounts where n = ?";
export const deletePersonAccountsSql = "delete from accounts where person = ?";
