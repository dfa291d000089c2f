import { createHash } from "node:crypto";
import { isSessionId } from "../../../core/ids.ts";
import type { NewMessage } from "../../../core/message.ts";
import type { EndReason, SessionKind } from "../../../core/session.ts";
import { cutTitle } from "../../../core/titles.ts";
import type { ImportedConversation, ImportedSession } from "../../../core/transfer.ts";
import { addUsage, emptyUsage, type Usage } from "../../../core/usage.ts";
import type { SeqRange } from "../../../core/view.ts";
import type { IndexEntry } from "./index-file.ts";
import type { ReadInstant } from "./instants.ts";
import { parseJson } from "./lossless-json.ts";
import { type Mapped, metaOf } from "./message-mapping.ts";
import { ownershipOf } from "./owner-mapping.ts";
import type { Row } from "./state-database.ts";

/** All that the source knows of one session. */
export interface Found {
  readonly id: string;
  /** The database's row, {} where there is none. */
  readonly row: Row;
  /** The newest entry of the index that names it. */
  readonly entry: IndexEntry | undefined;
  readonly conversations: readonly ImportedConversation[];
  /** The user whom its row or that of the session it continues names. */
  readonly user: string | undefined;
  readonly messages: readonly Mapped[];
}

export type Ready = ImportedSession & { readonly wantedTitle?: string };

/** The same id wherever it may stand in a path, a URL or a log line; else one made of it, always the same. */
export function safeId(id: string): string {
  if (isSessionId(id)) return id;
  const readable = id
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 48);
  const digest = createHash("sha256").update(id).digest("hex").slice(0, 12);
  return ["hermes", readable, digest].filter(Boolean).join("-");
}

/** The session as it will be stored. Everything with no place of its own is kept in `config`. */
export function sessionFrom(found: Found, readInstant: ReadInstant, now: number): Ready {
  const { row, entry } = found;
  const messages = withInstants(found.messages, startOf(found, readInstant) ?? 0);
  const modelConfig = objectIn(row.model_config);
  const endedAt = readInstant(row.ended_at);
  const parent = text(row.parent_session_id);
  const { owner, account, audience, origin, platform } = ownershipOf(found);
  const { title, shortened } = titleOf(row.title);
  const cwd = text(modelConfig?.cwd);
  return {
    session: {
      id: safeId(found.id),
      kind: kindOf(found),
      config: configOf(found, modelConfig, shortened),
      ...(owner !== undefined && { owner }),
      ...(title !== undefined && { title }),
      ...(cwd !== undefined && { cwd }),
    },
    ...(account !== undefined && { account }),
    conversations: found.conversations.map((chat) =>
      // The index does not say: then whoever spoke last did so there.
      chat.activeAt > 0 ? chat : { ...chat, activeAt: messages.at(-1)?.at ?? 0 },
    ),
    ...(audience !== undefined && { audience }),
    ...(origin !== undefined && { origin }),
    ...(platform !== undefined && { platform }),
    usage: usageOf(row, entry?.fields ?? {}, modelConfig, found.messages),
    createdAt: startOf(found, readInstant) ?? messages[0]?.at ?? now,
    ...(endedAt !== undefined && { endedAt, endReason: endReasonOf(row.end_reason) }),
    ...(parent !== undefined && { parent: safeId(parent) }),
    messages,
    blobs: [
      ...new Map(found.messages.flatMap(({ blobs }) => blobs.map((blob) => [blob.hash, blob]))).values(),
    ],
    shows: rangesOf(messages, (message) => !isTakenBack(message)),
    hidden: rangesOf(messages, isTakenBack),
    now,
    ...(text(row.title) !== undefined && { wantedTitle: String(row.title) }),
  };
}

/** Newer versions keep what was undone or compressed, marked as not active. */
function isTakenBack({ extra }: NewMessage): boolean {
  return extra?.active === 0 || extra?.active === false;
}

function rangesOf(messages: readonly NewMessage[], belongs: (message: NewMessage) => boolean): SeqRange[] {
  const ranges: SeqRange[] = [];
  for (const [place, message] of messages.entries()) {
    const last = ranges.at(-1);
    if (!belongs(message)) continue;
    if (last?.to === place) ranges[ranges.length - 1] = { from: last.from, to: place + 1 };
    else ranges.push({ from: place + 1, to: place + 1 });
  }
  return ranges;
}

/** When it began: as its row or entry says, or as its id does. */
export function startOf(
  { id, row, entry }: Omit<Found, "messages">,
  readInstant: ReadInstant,
): number | undefined {
  const [, y, mo, d, h, mi, s] = /(?:^|_)(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)(?:_|$)/.exec(id) ?? [];
  return (
    readInstant(row.started_at) ??
    entry?.createdAt ??
    (y === undefined ? undefined : readInstant(`${y}-${mo}-${d}T${h}:${mi}:${s}`))
  );
}

/** A message without a time of its own was said when the one before it was, the first ones when the next was. */
function withInstants(messages: readonly Mapped[], start: number): (NewMessage & { at: number })[] {
  let at = messages.find(({ message }) => message.at !== undefined)?.message.at ?? start;
  return messages.map(({ message }) => {
    at = message.at ?? at;
    return { ...message, at };
  });
}

function kindOf({ id, row }: Found): SessionKind {
  if (id.startsWith("cron_") || row.source === "cron") return "job";
  if (id.startsWith("bg_")) return "background";
  if (row.source === "acp") return "editor";
  return row.source === "webhook" ? "webhook" : "chat";
}

const END_REASONS: Readonly<Record<string, EndReason>> = {
  session_reset: "new",
  new_session: "new",
  session_switch: "switch",
};

function endReasonOf(reason: unknown): EndReason {
  return END_REASONS[String(reason)] ?? "closed";
}

/** Longer ones are cut; both forms are kept. */
function titleOf(value: unknown): { readonly title?: string; readonly shortened?: string } {
  if (typeof value !== "string") return {};
  const { title, isCut } = cutTitle(value);
  return { ...(title !== undefined && { title }), ...(isCut && { shortened: value }) };
}

/** Columns that have a place of their own here. */
const PLACED = new Set(
  `id parent_session_id started_at title input_tokens output_tokens cache_read_tokens cache_write_tokens
  reasoning_tokens message_count tool_call_count model billing_provider billing_base_url cost_status cost_source
  model_config system_prompt`.split(/\s+/),
);

function configOf(
  found: Found,
  modelConfig: Row | undefined,
  title: string | undefined,
): Record<string, unknown> {
  const { id, row, entry } = found;
  const columns = Object.entries(row).filter(([name, value]) => !PLACED.has(name) && value !== null);
  return {
    ...(text(row.system_prompt) !== undefined && { system_prompt: row.system_prompt }),
    ...(text(row.model_config) !== undefined && { model_config: modelConfig ?? row.model_config }),
    hermes: {
      id,
      ...(entry !== undefined && { key: entry.key }),
      ...(title !== undefined && { title }),
      ...Object.fromEntries(columns),
    },
  };
}

const COUNTERS = ["input", "output", "cache_read", "cache_write", "reasoning"] as const;

/** The row's counters; the index's where the row has none, for it is the older of the two. */
function usageOf(row: Row, entry: Row, modelConfig: Row | undefined, messages: readonly Mapped[]): Usage {
  const counters = COUNTERS.some((name) => count(row[`${name}_tokens`]) > 0) ? row : entry;
  const [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens] = COUNTERS.map(
    (name) => count(counters[`${name}_tokens`]),
  );
  const meta = metaOf(messages);
  const costUsd = cost(row.actual_cost_usd) ?? cost(row.estimated_cost_usd) ?? cost(entry.estimated_cost_usd);
  const texts = {
    costStatus: text(row.cost_status) ?? text(entry.cost_status),
    costSource: text(row.cost_source),
    model: text(row.model) ?? text(meta?.model),
    provider: text(row.billing_provider) ?? text(modelConfig?.provider),
    baseUrl: text(row.billing_base_url) ?? text(modelConfig?.base_url),
  };
  return addUsage(emptyUsage(), {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cacheReadTokens: cacheReadTokens ?? 0,
    cacheWriteTokens: cacheWriteTokens ?? 0,
    reasoningTokens: reasoningTokens ?? 0,
    lastPromptTokens: count(entry.last_prompt_tokens),
    ...(costUsd !== undefined && { costUsd }),
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)),
  });
}

function count(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : 0;
}

/** Nothing and zero are the same here: a cost that nobody filled in stands as 0. */
function cost(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function objectIn(value: unknown): Row | undefined {
  try {
    const json = typeof value === "string" ? parseJson(value) : undefined;
    return typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Row) : undefined;
  } catch {
    return undefined;
  }
}
