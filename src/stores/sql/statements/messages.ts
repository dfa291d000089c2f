export const insertMessageSql =
  "insert into messages (id, at, role, text, parts, meta) values (?, ?, ?, ?, ?, ?)";
export const messagesBetweenSql = `
select id, at, role, text, parts, meta from messages where id between ? and ? order by id`;
export const rolesBetweenSql = "select id, role from messages where id between ? and ? order by id limit ?";
