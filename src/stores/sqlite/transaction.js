export const beginImmediateSql = "begin immediate";
export const commitSql = "commit";
export const rollbackSql = "rollback";
export const savepointSql = "savepoint step";
export const releaseSavepointSql = "release step";
export const rollbackToSavepointSql = "rollback to step";
