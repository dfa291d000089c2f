export const newestMemorySql = "select * from memories where owner = ? order by version desc limit 1";
export const memoryVersionsSql = "select * from memories where owner = ? order by version desc limit ?";
export const memoryVersionSql = "select * from memories where owner = ? and version = ?";
export const memoryOwnersSql =
  "select distinct owner from memories where owner > ? and owner < ? order by owner";
export const insertMemorySql = "insert into memories (owner, version, at, entries) values (?, ?, ?, ?)";
export const deleteMemoriesSql = "delete from memories where owner = ?";
export const deleteOldMemoriesSql = "delete from memories where owner = ? and version <= ?";
