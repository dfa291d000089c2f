/**
 * A session that was closed by hand may still be current in a conversation, and processes may run in one that was left.
 */
const UNUSED_CONDITION = `s.lease_holder is null and not exists (select 1 from conversations c where c.session = s.n)
  and not exists (select 1 from processes p where p.session = s.n and p.state <> 'ended')`;

/** The values: those of `where`, the time, the platform, the kinds, the limit. */
export function selectPrunable(
  where: string,
  more: { readonly byPlatform: boolean; readonly kinds: number | undefined; readonly isLimited: boolean },
): string {
  const platform = more.byPlatform ? " and s.platform = ?" : "";
  const marks = Array(more.kinds ?? 0)
    .fill("?")
    .join(", ");
  const kinds = more.kinds === undefined ? "" : ` and s.kind in (${marks || "null"})`;
  return `
select s.* from sessions s
where ${where} and s.removed_at is null and s.ended_at is not null and s.last_at < ? and ${UNUSED_CONDITION}${platform}${kinds}
order by s.last_at, s.n${more.isLimited ? " limit ?" : ""}`;
}

export const clearFreshPreviousSql = `
update conversations set fresh_previous = null, note_due = 0, notice_due = 0 where fresh_previous = ?`;
export const markSessionRemovedSql =
  "update sessions set removed_at = ?, title = null, lease_holder = null where n = ?";
export const otherRemovedSessionsSql =
  "select * from sessions where removed_at is not null and n <> ? order by n";
/** Messages that a fork still shows belong to the fork's owner. */
export const giveSessionAwaySql = `
update sessions set owner = ?, audience = ?, removed_at = coalesce(removed_at, ?), origin = null, display_name = null,
  config = null where n = ?`;
export const sessionBlobsSql = "select hash from blob_uses where session = ?";
