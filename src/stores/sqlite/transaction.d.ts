export declare const beginImmediateSql = "begin immediate";
export declare const commitSql = "commit";
export declare const rollbackSql = "rollback";
export declare const savepointSql = "savepoint step";
export declare const releaseSavepointSql = "release step";
export declare const rollbackToSavepointSql = "rollback to step";
