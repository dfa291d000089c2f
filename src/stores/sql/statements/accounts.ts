/** The person of an account, for every inbound message. */
const personByAccountSql = `
select a.alt_id, a.person, coalesce(a.name, p.name) as name, p.role
from accounts a join people p on p.id = a.person where a.platform = ?`;
export const personByUserIdSql: string = `${personByAccountSql} and a.user_id = ?`;
export const personByAltIdSql: string = `${personByAccountSql} and a.alt_id = ?`;
