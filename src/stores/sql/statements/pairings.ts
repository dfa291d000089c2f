export const pairingByNumberSql = "select * from pairings where n = ?";
export const pairingsSql = "select * from pairings order by n";
export const validPairingsSql = "select * from pairings where expires_at > ? order by n";
export const validPairingsOnPlatformSql =
  "select * from pairings where expires_at > ? and platform = ? order by n";
export const insertPairingSql = `
insert into pairings (platform, user_id, asker, person, salt, hash, asked_at, expires_at)
values (?, ?, ?, ?, ?, ?, ?, ?)`;
export const deletePairingSql = "delete from pairings where n = ?";
/** Keeps the newest requests of senders on a platform: as many as the last value says. */
export const deleteOldRequestsSql = `
delete from pairings where platform = ? and asker is not null and n <= (
  select n from pairings where platform = ? and asker is not null order by n desc limit 1 offset ?)`;

/** The time of the last request with one of these ids. */
export function selectLastRequest(ids: number): string {
  return `select max(asked_at) as at from pairings where ${buildIdCondition(ids)}`;
}

export function deleteRequests(ids: number): string {
  return `delete from pairings where ${buildIdCondition(ids)}`;
}

function buildIdCondition(ids: number): string {
  return `platform = ? and user_id in (${Array(ids).fill("?").join(", ")})`;
}
