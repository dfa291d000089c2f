export const unindexedSessionsSql =
  "select n, indexed_seq, next_seq from sessions where indexed_seq < next_seq - 1 limit ?";
/** [id, role, text] of messages that are not indexed. */
export const unindexedMessagesSql = "select id, role, text from messages where id between ? and ? limit ?";
export const setIndexedSeqSql = "update sessions set indexed_seq = ? where n = ?";
