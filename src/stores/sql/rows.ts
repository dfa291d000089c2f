import type { Conversation, ConversationSettings } from "../../core/conversation.ts";
import { getText, type Message, type NewMessage, type Part, ROLES } from "../../core/message.ts";
import type { EndReason, Session, SessionKind } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import type { Usage } from "../../core/usage.ts";
import { parseList, parseObject } from "./json-columns.ts";

/** The usage counters of a session's row and of its usage rows. */
export interface CounterColumns {
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  cost_usd: number | null;
  cost_status: string;
  cost_source: string | null;
}

/** A session's row in SQLite. */
export interface SessionRow extends CounterColumns {
  n: number;
  id: string;
  handle: string;
  kind: SessionKind;
  profile: string;
  owner: string;
  audience: string | null;
  title: string | null;
  platform: string | null;
  origin: string | null;
  display_name: string | null;
  cwd: string | null;
  model: string | null;
  provider: string | null;
  base_url: string | null;
  config: string | null;
  last_prompt_tokens: number;
  human_count: number;
  tool_call_count: number;
  created_at: number;
  last_at: number;
  ended_at: number | null;
  end_reason: EndReason | null;
  archived_at: number | null;
  removed_at: number | null;
  parent: string | null;
  next_seq: number;
  version: number;
  indexed_seq: number;
  lease_holder: string | null;
  fence: number;
}

export interface ConversationRow {
  n: number;
  profile: string;
  platform: string;
  chat_type: string;
  chat_id: string;
  thread_id: string;
  account: number;
  person: string | null;
  groups_per_user: number;
  threads_per_user: number;
  session: number;
  active_at: number;
  created_at: number;
  fresh_reason: "idle" | "daily" | null;
  fresh_had_activity: number | null;
  fresh_previous: number | null;
  note_due: number;
  notice_due: number;
  settings: string | null;
  expired: "idle" | "daily" | null;
}

/** 2^24 messages per session, 2^29 sessions: both fit into the 53 bits of a double, and the schema checks both. */
export const SEQS_PER_SESSION = 16_777_216;

export function toMessageId(session: number, seq: number): number {
  return session * SEQS_PER_SESSION + seq;
}

export function toSession(row: SessionRow): Session {
  return buildSession(row, parseObject<Source>(row.origin));
}

/** For a caller that has the origin: parsing it again takes as long as reading the row. */
export function buildSession(row: SessionRow, origin: Source | undefined): Session {
  const session: Writable<Session> = {
    id: row.id,
    handle: row.handle,
    kind: row.kind,
    profile: row.profile,
    owner: row.owner,
    usage: toUsage(row),
    messageCount: row.next_seq - 1,
    humanCount: row.human_count,
    toolCallCount: row.tool_call_count,
    createdAt: row.created_at,
    lastAt: row.last_at,
  };
  if (row.audience !== null) session.audience = row.audience;
  if (row.title !== null) session.title = row.title;
  if (origin !== undefined) session.origin = origin;
  if (row.display_name !== null) session.displayName = row.display_name;
  if (row.cwd !== null) session.cwd = row.cwd;
  const config = parseObject<Record<string, unknown>>(row.config);
  if (config !== undefined) session.config = config;
  const damaged = (["origin", "config"] as const).filter(
    (column) => row[column] !== null && session[column] === undefined,
  );
  if (damaged.length > 0) session.damaged = damaged;
  if (row.ended_at !== null) session.endedAt = row.ended_at;
  if (row.end_reason !== null) session.endReason = row.end_reason;
  if (row.archived_at !== null) session.archivedAt = row.archived_at;
  if (row.parent !== null) session.parent = row.parent;
  return session;
}

type UsageColumns = CounterColumns &
  Pick<SessionRow, "last_prompt_tokens" | "model" | "provider" | "base_url">;

export function toUsage(row: UsageColumns): Usage {
  const usage: Writable<Usage> = {
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    reasoningTokens: row.reasoning_tokens,
    totalTokens: row.input_tokens + row.output_tokens + row.cache_read_tokens + row.cache_write_tokens,
    lastPromptTokens: row.last_prompt_tokens,
    costStatus: row.cost_status,
  };
  if (row.cost_usd !== null) usage.costUsd = row.cost_usd;
  if (row.cost_source !== null) usage.costSource = row.cost_source;
  if (row.model !== null) usage.model = row.model;
  if (row.provider !== null) usage.provider = row.provider;
  if (row.base_url !== null) usage.baseUrl = row.base_url;
  return usage;
}

/** Only for building the object. */
type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

export function toConversation(row: ConversationRow, key: string, session: string): Conversation {
  const conversation: Writable<Conversation> = {
    number: row.n,
    key,
    scope: { groupsPerUser: row.groups_per_user === 1, threadsPerUser: row.threads_per_user === 1 },
    session,
    activeAt: row.active_at,
    settings: parseConversationSettings(row),
  };
  if (row.person !== null) conversation.person = row.person;
  return conversation;
}

export function parseConversationSettings({
  settings,
}: Pick<ConversationRow, "settings">): ConversationSettings {
  return parseObject<ConversationSettings>(settings) ?? {};
}

/** The columns of a message. A plain text needs only `text`, which loads without JSON. */
export function toMessageColumns(
  message: NewMessage,
): [role: number, text: string | null, parts: string | null, meta: string | null] {
  // A message from a history can be stored again; its old position is not part of it.
  const {
    role,
    parts,
    at: _at,
    session: _session,
    seq: _seq,
    ...meta
  } = message as Partial<Message> & NewMessage;
  const only = parts[0];
  const plain = parts.length === 0 || (parts.length === 1 && only?.type === "text");
  const text = parts.length === 0 ? null : plain && only?.type === "text" ? only.text : getText(message);
  return [
    ROLES.indexOf(role),
    text,
    plain ? null : JSON.stringify(parts),
    hasKeys(meta) ? JSON.stringify(meta) : null,
  ];
}

/** [id, at, role, text, parts, meta], the inverse of `toMessageColumns`. */
export function toMessage(row: readonly unknown[], session: string): Message {
  const text = row[3] as string | null;
  const json = row[4] as string | null;
  const meta = row[5] as string | null;
  const stored = parseList<Part>(json);
  const parts: readonly Part[] = stored ?? (text === null ? [] : [{ type: "text", text }]);
  const message = {
    session,
    seq: (row[0] as number) % SEQS_PER_SESSION,
    at: row[1] as number,
    role: ROLES[row[2] as number] ?? "note",
    parts,
  };
  if (meta === null && json === null) return message;
  const more = parseObject(meta);
  const damaged = [
    ...(json !== null && stored === undefined ? ["parts"] : []),
    ...(meta !== null && more === undefined ? ["meta"] : []),
  ];
  return Object.assign(message, more, damaged.length > 0 && { extra: { damaged } });
}

function hasKeys(object: object): boolean {
  for (const _key in object) return true;
  return false;
}
