export const decisionsInConversationSql = "select * from decisions where conversation = ? order by n desc";
export const lastDecisionSql =
  "select decision from decisions where conversation = ? order by n desc limit 1";
/** Without an index: only people run this query. */
export const decisionsAboutSessionSql = `
select * from decisions where from_session = ? or to_session = ? order by n desc limit ?`;
