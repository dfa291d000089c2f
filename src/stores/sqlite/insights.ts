import type { Insights } from "../../core/insights.ts";
import { ROLES } from "../../core/message.ts";
import type { Asker } from "../../core/owner.ts";
import { sumUsage, usageByPurpose } from "../../core/usage.ts";
import { usageByDay } from "../../core/usage-days.ts";
import type { Db } from "./connection.ts";
import { messageId, SEQ_BITS, type SessionRow } from "./rows.ts";
import { usageSince } from "./usage.ts";
import { visibleSql } from "./visible.ts";

const USER = ROLES.indexOf("user");
const MOST_BUSY = 5;

interface Counted {
  readonly messages: number;
  readonly humans: number;
  readonly calls: number;
}

export function insights(
  db: Db,
  input: { asker: Asker; since: number; platform?: string; zone?: string },
): Insights {
  const { where, values } = visibleSql(input.asker);
  const onPlatform = input.platform === undefined ? "" : "and s.platform = ?";
  const used = db
    .all<SessionRow>(
      `select s.* from sessions s where ${where} and s.removed_at is null and s.last_at >= ? ${onPlatform} order by s.last_at, s.n`,
      ...values,
      input.since,
      ...(input.platform === undefined ? [] : [input.platform]),
    )
    .map((row) => ({ row, ...said(db, row, input.since) }))
    .filter(({ messages }) => messages > 0);
  const entries = usageSince(db, input);
  const sum = (count: (session: Counted) => number): number =>
    used.reduce((total, session) => total + count(session), 0);
  return {
    sessions: used.length,
    messages: sum(({ messages }) => messages),
    humanMessages: sum(({ humans }) => humans),
    toolCalls: sum(({ calls }) => calls),
    usage: sumUsage(entries.map(({ usage }) => usage)),
    usageByPurpose: usageByPurpose(entries),
    usageByDay: usageByDay(entries, input.zone ?? "UTC"),
    byPlatform: [...Map.groupBy(used, ({ row }) => row.platform ?? "none")]
      .map(([platform, there]) => ({
        platform,
        sessions: there.length,
        messages: there.reduce((total, { messages }) => total + messages, 0),
      }))
      .toSorted((a, b) => b.messages - a.messages || (a.platform < b.platform ? -1 : 1)),
    busiest: used
      .toSorted((a, b) => b.messages - a.messages || b.row.last_at - a.row.last_at)
      .slice(0, MOST_BUSY)
      .map(({ row, messages }) => ({
        handle: row.handle,
        ...(row.title !== null && { title: row.title }),
        messages,
      })),
  };
}

/** What was said in it since then. Of a session that is younger, its counters know without a look at the messages. */
function said(db: Db, session: SessionRow, since: number): Counted {
  if (session.created_at >= since) {
    const { next_seq, human_count: humans, tool_call_count: calls } = session;
    return { messages: next_seq - 1, humans, calls };
  }
  const row = db.get<Counted>(
    `select count(*) as messages, coalesce(sum(role = ${USER}), 0) as humans,
       coalesce(sum(case when json_valid(meta) then json_array_length(meta, '$.toolCalls') end), 0) as calls
     from messages where id between ? and ? and at >= ?`,
    messageId(session.n, 1),
    messageId(session.n, SEQ_BITS - 1),
    since,
  );
  return row ?? { messages: 0, humans: 0, calls: 0 };
}
