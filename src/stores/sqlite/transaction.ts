/** Takes its snapshot with the first statement after it. */
export const beginReadSql = "begin deferred";
export const beginImmediateSql = "begin immediate";
export const commitSql = "commit";
export const rollbackSql = "rollback";
export const savepointSql = "savepoint step";
export const releaseSavepointSql = "release step";
export const rollbackToSavepointSql = "rollback to step";
