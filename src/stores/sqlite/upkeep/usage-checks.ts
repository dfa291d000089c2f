import { addUsage, isUsed, sumUsage, type UsageEntry } from "../../../core/usage.ts";
import { type SessionRow, toUsage } from "../../sql/rows.ts";
import { sessionUsageSql } from "../../sql/statements/usage.ts";
import { addUsageEntry, setCounters, toUsageEntry, type UsageRow } from "../../sql/usage.ts";
import type { SqliteDb } from "../connection.ts";
import { type Finding, formatCount, reportFixable, reportOk } from "./findings.ts";

const COUNTERS = [
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
] as const;

/** Sessions whose counters are not the sums of their usage rows. */
const MISMATCHED_SESSIONS_SQL = `
with summed as (
  select session, ${COUNTERS.map((name) => `sum(${name}) as ${name}`).join(", ")} from usage group by session)
select s.* from sessions s left join summed u on u.session = s.n
where s.removed_at is null and (${COUNTERS.map((name) => `s.${name} <> coalesce(u.${name}, 0)`).join(" or ")})
order by s.n`;

export function checkUsage(db: SqliteDb): Finding {
  const wrong = db.all<SessionRow>(MISMATCHED_SESSIONS_SQL);
  if (wrong.length === 0)
    return reportOk("usage", "The tokens of every session are those of its model requests.");
  const handles = wrong.slice(0, 5).map(({ handle }) => handle);
  const more = wrong.length > 5 ? ", …" : "";
  const text = `The tokens of ${formatCount(wrong.length, "session")} are not the sum of its model requests: ${handles.join(", ")}${more}.`;
  return reportFixable("usage", text);
}

/** Missing usage is added as an answer on the session's last day; if the rows have more, they are right. */
export function repairUsage(db: SqliteDb): string | undefined {
  const wrong = db.all<SessionRow>(MISMATCHED_SESSIONS_SQL);
  for (const session of wrong) {
    const entries = db.all<UsageRow>(sessionUsageSql, session.n).map(toUsageEntry);
    const rest = computeMissingUsage(session, entries);
    if (rest !== undefined) addUsageEntry(db, session.n, "answer", rest, session.last_at);
    const sums = sumUsage([...entries.map(({ usage }) => usage), ...(rest === undefined ? [] : [rest])]);
    const { lastPromptTokens, model, provider, baseUrl } = toUsage(session);
    const kept = {
      lastPromptTokens,
      ...(model !== undefined && { model }),
      ...(provider !== undefined && { provider }),
      ...(baseUrl !== undefined && { baseUrl }),
    };
    setCounters(db, session.n, addUsage(sums, kept));
  }
  return wrong.length === 0
    ? undefined
    : `The token counts of ${formatCount(wrong.length, "session")} corrected.`;
}

function computeMissingUsage(session: SessionRow, entries: readonly UsageEntry[]) {
  const counted = toUsage(session);
  const sum = sumUsage(entries.map(({ usage }) => usage));
  const subtract = (total: number, found: number): number => Math.max(0, total - found);
  const rest = {
    inputTokens: subtract(counted.inputTokens, sum.inputTokens),
    outputTokens: subtract(counted.outputTokens, sum.outputTokens),
    cacheReadTokens: subtract(counted.cacheReadTokens, sum.cacheReadTokens),
    cacheWriteTokens: subtract(counted.cacheWriteTokens, sum.cacheWriteTokens),
    reasoningTokens: subtract(counted.reasoningTokens, sum.reasoningTokens),
  };
  if (!isUsed(rest)) return undefined;
  const costUsd = counted.costUsd === undefined ? 0 : counted.costUsd - (sum.costUsd ?? 0);
  const { costStatus, costSource } = counted;
  return {
    ...rest,
    ...(costUsd > 0 && { costUsd, costStatus, ...(costSource !== undefined && { costSource }) }),
  };
}
