export const insertBlobSql = "insert or ignore into blobs (hash, size, bytes) values (?, ?, ?)";
export const blobBytesSql = "select bytes from blobs where hash = ?";
export const blobSizeSql = "select size from blobs where hash = ?";
export const insertBlobUseSql = "insert or ignore into blob_uses (hash, session) values (?, ?)";
export const deleteUnusedBlobSql =
  "delete from blobs where hash = ? and not exists (select 1 from blob_uses u where u.hash = blobs.hash)";
