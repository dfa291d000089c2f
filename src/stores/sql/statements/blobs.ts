export const insertBlobSql = "insert into blobs (hash, size, bytes) values (?, ?, ?) on conflict do nothing";
export const blobBytesSql = "select bytes from blobs where hash = ?";
export const blobSizeSql = "select size from blobs where hash = ?";
export const insertBlobUseSql = "insert into blob_uses (hash, session) values (?, ?) on conflict do nothing";
export const sessionsUsingBlobSql = "select session from blob_uses where hash = ?";
export const deleteBlobUseSql = "delete from blob_uses where hash = ? and session = ?";
/** A blob that a session uses, if that session is visible. */
export function buildVisibleBlobSql(condition: string): string {
  return `
select b.bytes from blobs b where b.hash = ? and exists (
  select 1 from blob_uses u join sessions s on s.n = u.session where u.hash = b.hash and ${condition})`;
}
export const deleteUnusedBlobSql =
  "delete from blobs where hash = ? and not exists (select 1 from blob_uses u where u.hash = blobs.hash)";
