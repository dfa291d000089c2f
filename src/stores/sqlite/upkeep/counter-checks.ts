import type { SqliteDb } from "../connection.ts";
import { type Finding, formatCount, reportFixable, reportOk, reportWarning } from "./findings.ts";
import { createMessageCounts, type MessageCounts, type MessageSurvey } from "./message-survey.ts";

/** The counters of a session's row, and the counts of its messages. */
export interface CountedSession extends MessageCounts {
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
  /** The highest seq that a view refers to. */
  named: number;
}

const SESSIONS_SQL = `
with named as (
  select n, max(seq) as named from (
    select piece_session as n, max(coalesce(to_seq, from_seq - 1)) as seq from pieces group by 1
    union all select session, max(to_seq) from hidden group by 1
    union all select session, max(next_seq) - 1 from views group by 1) group by 1)
select s.n, s.id, s.handle, s.removed_at, s.created_at, s.human_count, s.tool_call_count, s.next_seq, s.last_at,
  s.indexed_seq, coalesce(v.named, 0) as named
from sessions s left join named v on v.n = s.n`;

export function listCountedSessions(db: SqliteDb, counts: MessageSurvey["counts"]): CountedSession[] {
  return db
    .all<Omit<CountedSession, keyof MessageCounts>>(SESSIONS_SQL)
    .map((session) => ({ ...session, ...(counts.get(session.n) ?? createMessageCounts()) }));
}

/** The correct counters. A seq that a view refers to is never used again, even if its message is lost. */
export function computeCounters(
  row: CountedSession,
): Pick<CountedSession, "human_count" | "tool_call_count" | "next_seq" | "last_at" | "indexed_seq"> {
  const next_seq = Math.max(row.max_seq, row.named) + 1;
  const indexed_seq = Math.min(row.indexed_seq, next_seq - 1);
  // A removed session keeps only the messages that a fork shows; its counters are no longer checked.
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

export function hasWrongCounters(row: CountedSession): boolean {
  const expected = computeCounters(row);
  return (Object.keys(expected) as (keyof typeof expected)[]).some((name) => row[name] !== expected[name]);
}

export function checkCounters(db: SqliteDb, { counts }: MessageSurvey): Finding[] {
  const rows = listCountedSessions(db, counts);
  const wrong = rows.filter(hasWrongCounters);
  const formatHandles = (list: readonly CountedSession[]): string =>
    list
      .slice(0, 5)
      .map(({ handle }) => handle)
      .join(", ") + (list.length > 5 ? ", …" : "");
  const counters =
    wrong.length === 0
      ? reportOk("counters", `${formatCount(rows.length, "session")}, all with correct counters.`)
      : reportFixable(
          "counters",
          `${formatCount(wrong.length, "session")} with wrong counters: ${formatHandles(wrong)}.`,
        );
  const incomplete = rows.filter(
    (row) => row.removed_at === null && row.messages < computeCounters(row).next_seq - 1,
  );
  if (incomplete.length === 0) return [counters, reportOk("messages", "No message is missing.")];
  const lost = incomplete.reduce((sum, row) => sum + computeCounters(row).next_seq - 1 - row.messages, 0);
  return [
    counters,
    reportWarning(
      "messages",
      `${formatCount(lost, "message")} missing in ${formatCount(incomplete.length, "session")}: ${formatHandles(incomplete)}.`,
      "They cannot be recovered from this file. If a copy of the database has them, restore it with postrider restore.",
    ),
  ];
}
