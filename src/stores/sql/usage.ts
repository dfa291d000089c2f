import type { Asker } from "../../core/owner.ts";
import {
  addUsage,
  emptyUsage,
  isUsed,
  omitPromptTokens,
  toUsageSpan,
  type Usage,
  type UsageDelta,
  type UsageEntry,
  type UsagePurpose,
} from "../../core/usage.ts";
import type { RecordUsage } from "../../ports/session-store.ts";
import type { SessionRequest } from "../../ports/store-request.ts";
import type { Db } from "./db.ts";
import { type CounterColumns, type SessionRow, toUsage } from "./rows.ts";
import { SESSION_CONDITIONS } from "./statements/session-lists.ts";
import { setCountersSql } from "./statements/sessions.ts";
import {
  buildUsageSinceSql,
  deleteSessionUsageSql,
  sessionUsageSql,
  setUsageRowSql,
  usageRowSql,
} from "./statements/usage.ts";
import { buildVisibleCondition, findReadableSession } from "./visibility.ts";

/** The columns of a usage row. Its model and provider are '' if unknown. */
export interface UsageRow extends CounterColumns {
  at: number;
  purpose: UsagePurpose;
  model: string;
  provider: string;
}

/** Adds to the counters of the session and to the row of the purpose, which must always agree. */
export function addSessionUsage(
  db: Db,
  session: SessionRow,
  { purpose, usage, now }: Pick<RecordUsage, "purpose" | "usage" | "now">,
): void {
  // The prompt of a title or a flush is not that of the conversation. A summary reports the new prompt.
  const counted = purpose === "title" || purpose === "flush" ? omitPromptTokens(usage) : usage;
  setCounters(db, session.n, addUsage(toUsage(session), counted));
  if (isUsed(counted)) addUsageEntry(db, session.n, purpose, counted, now);
}

/** Replaces the counters by those of another store, with their entries if they are known. */
export function replaceUsage(
  db: Db,
  session: Pick<SessionRow, "n" | "last_at">,
  usage: Usage,
  entries: readonly UsageEntry[] = [],
): void {
  db.send(deleteSessionUsageSql, session.n);
  setCounters(db, session.n, usage);
  if (entries.length > 0)
    for (const entry of entries) addUsageEntry(db, session.n, entry.purpose, entry.usage, entry.at);
  else if (isUsed(usage)) addUsageEntry(db, session.n, "answer", usage, session.last_at);
}

export function listUsageEntries(db: Db, input: SessionRequest): UsageEntry[] | undefined {
  const session = findReadableSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  return db.all<UsageRow>(sessionUsageSql, session.n).map(toUsageEntry);
}

/** The usage since then in sessions that the asker may see, also in sessions without new messages. */
export function listUsageSince(
  db: Db,
  input: { readonly asker: Asker; readonly since: number; readonly platform?: string },
): UsageEntry[] {
  const { where, values } = buildVisibleCondition(input.asker);
  const conditions: string[] = [where, SESSION_CONDITIONS.kept];
  if (input.platform !== undefined) conditions.push(SESSION_CONDITIONS.platform);
  return db
    .all<UsageRow>(
      buildUsageSinceSql(conditions),
      ...values,
      ...(input.platform === undefined ? [] : [input.platform]),
      toUsageSpan(input.since),
    )
    .map(toUsageEntry);
}

export function addUsageEntry(
  db: Db,
  session: number,
  purpose: UsagePurpose,
  delta: UsageDelta,
  at: number,
): void {
  const { model = "", provider = "" } = delta;
  const key = [session, toUsageSpan(at), purpose, provider, model];
  const row = db.get<UsageRow>(usageRowSql, ...key);
  const usage = addUsage(row === undefined ? emptyUsage() : toUsageEntry(row).usage, delta);
  db.send(
    setUsageRowSql,
    ...key,
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadTokens,
    usage.cacheWriteTokens,
    usage.reasoningTokens,
    usage.costUsd ?? null,
    usage.costStatus,
    usage.costSource ?? null,
  );
}

export function toUsageEntry(row: UsageRow): UsageEntry {
  const { at, purpose, model, provider } = row;
  const named = { model: model || null, provider: provider || null, base_url: null };
  return { at, purpose, usage: toUsage({ ...row, ...named, last_prompt_tokens: 0 }) };
}

export function setCounters(db: Db, session: number, usage: Usage): void {
  db.send(
    setCountersSql,
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadTokens,
    usage.cacheWriteTokens,
    usage.reasoningTokens,
    usage.lastPromptTokens,
    usage.costUsd ?? null,
    usage.costStatus,
    usage.costSource ?? null,
    usage.model ?? null,
    usage.provider ?? null,
    usage.baseUrl ?? null,
    session,
  );
}
