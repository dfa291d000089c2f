import type { Insights } from "../../core/insights.ts";
import type { Asker } from "../../core/owner.ts";
import { sumByPurpose, sumUsage } from "../../core/usage.ts";
import { sumByDay } from "../../core/usage-days.ts";
import type { Db } from "./db.ts";
import { SEQS_PER_SESSION, type SessionRow, toMessageId } from "./rows.ts";
import { messageActivitySql } from "./statements/messages.ts";
import { buildActiveSessionsSql, SESSION_CONDITIONS } from "./statements/session-lists.ts";
import { listUsageSince } from "./usage.ts";
import { buildVisibleCondition } from "./visibility.ts";

const MAX_BUSIEST = 5;

interface SessionActivity {
  readonly messages: number;
  readonly humans: number;
  readonly calls: number;
}

export function getInsights(
  db: Db,
  input: { asker: Asker; since: number; platform?: string; zone?: string },
): Insights {
  const { where, values } = buildVisibleCondition(input.asker);
  const conditions: string[] = [where, SESSION_CONDITIONS.kept, SESSION_CONDITIONS.activeSince];
  if (input.platform !== undefined) conditions.push(SESSION_CONDITIONS.platform);
  const active = db
    .all<SessionRow>(
      buildActiveSessionsSql(conditions),
      ...values,
      input.since,
      ...(input.platform === undefined ? [] : [input.platform]),
    )
    .map((row) => ({ row, ...countActivity(db, row, input.since) }))
    .filter(({ messages }) => messages > 0);
  const entries = listUsageSince(db, input);
  const sum = (count: (session: SessionActivity) => number): number =>
    active.reduce((total, session) => total + count(session), 0);
  return {
    sessions: active.length,
    messages: sum(({ messages }) => messages),
    humanMessages: sum(({ humans }) => humans),
    toolCalls: sum(({ calls }) => calls),
    usage: sumUsage(entries.map(({ usage }) => usage)),
    usageByPurpose: sumByPurpose(entries),
    usageByDay: sumByDay(entries, input.zone ?? "UTC"),
    byPlatform: [...Map.groupBy(active, ({ row }) => row.platform ?? "none")]
      .map(([platform, sessions]) => ({
        platform,
        sessions: sessions.length,
        messages: sessions.reduce((total, { messages }) => total + messages, 0),
      }))
      .toSorted((a, b) => b.messages - a.messages || (a.platform < b.platform ? -1 : 1)),
    busiest: active
      .toSorted((a, b) => b.messages - a.messages || b.row.last_at - a.row.last_at)
      .slice(0, MAX_BUSIEST)
      .map(({ row, messages }) => ({
        handle: row.handle,
        ...(row.title !== null && { title: row.title }),
        messages,
      })),
  };
}

/** The activity since then. For a session that started later, its counters are enough. */
function countActivity(db: Db, session: SessionRow, since: number): SessionActivity {
  if (session.created_at >= since) {
    const { next_seq, human_count: humans, tool_call_count: calls } = session;
    return { messages: next_seq - 1, humans, calls };
  }
  const row = db.get<SessionActivity>(
    messageActivitySql,
    toMessageId(session.n, 1),
    toMessageId(session.n, SEQS_PER_SESSION - 1),
    since,
  );
  return row ?? { messages: 0, humans: 0, calls: 0 };
}
