/** What a list of sessions can be narrowed to, on a row called `s`. */
export const SESSION_CONDITIONS = {
  kept: "s.removed_at is null",
  activeSince: "s.last_at >= ?",
  platform: "s.platform = ?",
  owner: "s.owner = ?",
  cwd: "s.cwd = ?",
  titled: "s.title is not null",
  used: "(s.next_seq > 1 or s.title is not null or s.parent is not null)",
  unused: "s.next_seq <= 1 and s.title is null and s.parent is null",
  archived: "s.archived_at is not null",
  notArchived: "s.archived_at is null",
  /** After a row in the order of a list. */
  beforeRow: "(s.last_at, s.n) < (?, ?)",
} as const;

/** One of `count` values; of none, no row. */
export function buildOneOfCondition(column: "id" | "platform" | "kind", count: number): string {
  return `s.${column} in (${Array(count).fill("?").join(", ") || "null"})`;
}

/** First only the numbers: sorting them takes a third of the time of sorting whole rows. */
export function buildSessionListSql(conditions: readonly string[]): string {
  return `
select * from sessions where n in (select s.n from sessions s where ${conditions.join(" and ")}
  order by s.last_at desc, s.n desc limit ?) order by last_at desc, n desc`;
}

export function buildActiveSessionsSql(conditions: readonly string[]): string {
  return `select s.* from sessions s where ${conditions.join(" and ")} order by s.last_at, s.n`;
}

/** A range, not LIKE: an underscore in an id is an underscore. */
export function buildSessionsByPrefixSql(condition: string): string {
  return `
select s.* from sessions s where s.id >= ? and s.id < ? and s.removed_at is null and ${condition} order by s.id limit 10`;
}

export function buildTitledSessionsSql(condition: string): string {
  return `select s.* from sessions s where s.title is not null and s.removed_at is null and ${condition}`;
}

export function buildOtherSessionSql(condition: string): string {
  return `select 1 from sessions s where ${condition} and s.removed_at is null and s.id <> ? limit 1`;
}

export function buildCountSessionsSql(condition: string): string {
  return `
select count(*) as sessions, cast(sum(s.next_seq - 1) as bigint) as messages
from sessions s where ${condition} and s.removed_at is null`;
}

export function buildCountByColumnSql(column: "platform" | "kind" | "owner", condition: string): string {
  return `
select s.${column} as name, count(*) as count from sessions s where ${condition} and s.removed_at is null
group by 1 order by 1 nulls first`;
}
