import type { Db } from "../connection.ts";
import { count, type Finding, fine, fixable, warning } from "./findings.ts";

/** What a session's row counts, and what its messages say. */
export interface Counted {
  n: number;
  id: string;
  handle: string;
  removed_at: number | null;
  created_at: number;
  human_count: number;
  tool_call_count: number;
  next_seq: number;
  last_at: number;
  indexed_seq: number;
  messages: number;
  max_seq: number;
  max_at: number;
  humans: number;
  tool_calls: number;
  /** The highest seq that a view names. */
  named: number;
}

const COUNTED = `
with said as (
  select id >> 24 as n, count(*) as messages, max(id & 16777215) as max_seq, max(at) as max_at, 
    sum(role = 0 and not case when meta is not null and json_valid(meta)
      then coalesce(json_extract(meta, '$.origin.proactive'), 0) else 0 end) as humans,
    sum(case when meta is not null and json_valid(meta) then coalesce(json_array_length(meta, '$.toolCalls'), 0) else 0 end)
      as tool_calls
  from messages group by 1),
named as (
  select n, max(seq) as named from (
    select piece_session as n, max(coalesce(to_seq, from_seq - 1)) as seq from pieces group by 1
    union all select session, max(to_seq) from hidden group by 1
    union all select session, max(next_seq) - 1 from views group by 1) group by 1)
select s.n, s.id, s.handle, s.removed_at, s.created_at, s.human_count, s.tool_call_count, s.next_seq, s.last_at,
  s.indexed_seq, coalesce(a.messages, 0) as messages, coalesce(a.max_seq, 0) as max_seq,
  coalesce(a.max_at, 0) as max_at, coalesce(a.humans, 0) as humans, coalesce(a.tool_calls, 0) as tool_calls,
  coalesce(v.named, 0) as named
from sessions s left join said a on a.n = s.n left join named v on v.n = s.n`;

export function countedSessions(db: Db): Counted[] {
  return db.all<Counted>(COUNTED);
}

/** What the counters should be. A seq that a view names is never given out again, though its message be lost. */
export function rightCounters(
  row: Counted,
): Pick<Counted, "human_count" | "tool_call_count" | "next_seq" | "last_at" | "indexed_seq"> {
  const next_seq = Math.max(row.max_seq, row.named) + 1;
  const indexed_seq = Math.min(row.indexed_seq, next_seq - 1);
  // Of a removed session only what a fork shows is left; its counters count nothing any more.
  if (row.removed_at !== null) {
    const { human_count, tool_call_count, last_at } = row;
    return { human_count, tool_call_count, last_at, next_seq: Math.max(row.next_seq, next_seq), indexed_seq };
  }
  return {
    human_count: row.humans,
    tool_call_count: row.tool_calls,
    next_seq,
    last_at: Math.max(row.created_at, row.max_at),
    indexed_seq,
  };
}

export function hasWrongCounters(row: Counted): boolean {
  const right = rightCounters(row);
  return (Object.keys(right) as (keyof typeof right)[]).some((name) => row[name] !== right[name]);
}

export function checkCounters(db: Db): Finding[] {
  const rows = countedSessions(db);
  const wrong = rows.filter(hasWrongCounters);
  const handles = (list: readonly Counted[]): string =>
    list
      .slice(0, 5)
      .map(({ handle }) => handle)
      .join(", ") + (list.length > 5 ? ", …" : "");
  const counters =
    wrong.length === 0
      ? fine("counters", `${count(rows.length, "session")}, all counted right.`)
      : fixable("counters", `${count(wrong.length, "session")} counted wrong: ${handles(wrong)}.`);
  const torn = rows.filter(
    (row) => row.removed_at === null && row.messages < rightCounters(row).next_seq - 1,
  );
  if (torn.length === 0) return [counters, fine("messages", "No message is missing.")];
  const lost = torn.reduce((sum, row) => sum + rightCounters(row).next_seq - 1 - row.messages, 0);
  return [
    counters,
    warning(
      "messages",
      `${count(lost, "message")} missing in ${count(torn.length, "session")}: ${handles(torn)}.`,
      "Nothing can make them again. If a copy of the database has them, postrider restore brings it back.",
    ),
  ];
}
