import { createHash } from "node:crypto";
import { isSessionId } from "../../../core/ids.ts";
import type { NewMessage } from "../../../core/message.ts";
import type { EndReason, SessionKind } from "../../../core/session.ts";
import { cutTitle } from "../../../core/titles.ts";
import type { ImportedConversation, ImportedSession } from "../../../core/transfer.ts";
import { addUsage, emptyUsage, type Usage } from "../../../core/usage.ts";
import type { SeqRange } from "../../../core/view.ts";
import type { IndexEntry } from "./index-file.ts";
import type { InstantReader } from "./instant-reader.ts";
import { parseJson } from "./lossless-json.ts";
import { findSessionMeta, type MappedMessage } from "./message-mapping.ts";
import { mapOwnership } from "./owner-mapping.ts";
import type { HermesRow } from "./state-database.ts";

/** All data of one session in the source. */
export interface HermesSession {
  readonly id: string;
  /** The row of the database, or {}. */
  readonly row: HermesRow;
  /** The newest index entry of the session. */
  readonly entry: IndexEntry | undefined;
  readonly conversations: readonly ImportedConversation[];
  /** The user of its row, or of the session that it continues. */
  readonly user: string | undefined;
  readonly messages: readonly MappedMessage[];
}

export type PreparedSession = ImportedSession & { readonly wantedTitle?: string };

/** Keeps an id that is safe in paths, URLs and logs; otherwise derives a stable one. */
export function toSafeId(id: string): string {
  if (isSessionId(id)) return id;
  const readable = id
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 48);
  const digest = createHash("sha256").update(id).digest("hex").slice(0, 12);
  return ["hermes", readable, digest].filter(Boolean).join("-");
}

/** Maps a session for the store. Unknown fields go to `config`. */
export function mapSession(found: HermesSession, readInstant: InstantReader, now: number): PreparedSession {
  const { row, entry } = found;
  const messages = fillTimes(found.messages, readSessionStart(found, readInstant) ?? 0);
  const modelConfig = parseObject(row.model_config);
  const endedAt = readInstant(row.ended_at);
  const parent = toText(row.parent_session_id);
  const { owner, account, audience, origin, platform } = mapOwnership(found);
  const { title, shortened } = mapTitle(row.title);
  const cwd = toText(modelConfig?.cwd);
  return {
    session: {
      id: toSafeId(found.id),
      kind: mapKind(found),
      config: buildSessionConfig(found, modelConfig, shortened),
      ...(owner !== undefined && { owner }),
      ...(title !== undefined && { title }),
      ...(cwd !== undefined && { cwd }),
    },
    ...(account !== undefined && { account }),
    conversations: found.conversations.map((chat) =>
      // The index has no time: the last message has it.
      chat.activeAt > 0 ? chat : { ...chat, activeAt: messages.at(-1)?.at ?? 0 },
    ),
    ...(audience !== undefined && { audience }),
    ...(origin !== undefined && { origin }),
    ...(platform !== undefined && { platform }),
    usage: mapUsage(row, entry?.fields ?? {}, modelConfig, found.messages),
    createdAt: readSessionStart(found, readInstant) ?? messages[0]?.at ?? now,
    ...(endedAt !== undefined && { endedAt, endReason: mapEndReason(row.end_reason) }),
    ...(parent !== undefined && { parent: toSafeId(parent) }),
    messages,
    blobs: [
      ...new Map(found.messages.flatMap(({ blobs }) => blobs.map((blob) => [blob.hash, blob]))).values(),
    ],
    shows: listRanges(messages, (message) => !isTakenBack(message)),
    hidden: listRanges(messages, isTakenBack),
    now,
    ...(toText(row.title) !== undefined && { wantedTitle: String(row.title) }),
  };
}

/** Newer versions keep undone and compressed messages and mark them as inactive. */
function isTakenBack({ extra }: NewMessage): boolean {
  return extra?.active === 0 || extra?.active === false;
}

function listRanges(messages: readonly NewMessage[], belongs: (message: NewMessage) => boolean): SeqRange[] {
  const ranges: SeqRange[] = [];
  for (const [place, message] of messages.entries()) {
    const last = ranges.at(-1);
    if (!belongs(message)) continue;
    if (last?.to === place) ranges[ranges.length - 1] = { from: last.from, to: place + 1 };
    else ranges.push({ from: place + 1, to: place + 1 });
  }
  return ranges;
}

/** The start time: from the row, the entry or the id. */
export function readSessionStart(
  { id, row, entry }: Omit<HermesSession, "messages">,
  readInstant: InstantReader,
): number | undefined {
  const [, y, mo, d, h, mi, s] = /(?:^|_)(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)(?:_|$)/.exec(id) ?? [];
  return (
    readInstant(row.started_at) ??
    entry?.createdAt ??
    (y === undefined ? undefined : readInstant(`${y}-${mo}-${d}T${h}:${mi}:${s}`))
  );
}

/** A message without a time gets the time of the previous one; the first messages get the time of the next one. */
function fillTimes(messages: readonly MappedMessage[], start: number): (NewMessage & { at: number })[] {
  let at = messages.find(({ message }) => message.at !== undefined)?.message.at ?? start;
  return messages.map(({ message }) => {
    at = message.at ?? at;
    return { ...message, at };
  });
}

function mapKind({ id, row }: HermesSession): SessionKind {
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

function mapEndReason(reason: unknown): EndReason {
  return END_REASONS[String(reason)] ?? "closed";
}

/** Cuts a long title; `config` keeps the original. */
function mapTitle(value: unknown): { readonly title?: string; readonly shortened?: string } {
  if (typeof value !== "string") return {};
  const { title, isCut } = cutTitle(value);
  return { ...(title !== undefined && { title }), ...(isCut && { shortened: value }) };
}

/** Columns that are mapped to fields of the session. */
const MAPPED_COLUMNS = new Set(
  `id parent_session_id started_at title input_tokens output_tokens cache_read_tokens cache_write_tokens
  reasoning_tokens message_count tool_call_count model billing_provider billing_base_url cost_status cost_source
  model_config system_prompt`.split(/\s+/),
);

function buildSessionConfig(
  found: HermesSession,
  modelConfig: HermesRow | undefined,
  title: string | undefined,
): Record<string, unknown> {
  const { id, row, entry } = found;
  const columns = Object.entries(row).filter(([name, value]) => !MAPPED_COLUMNS.has(name) && value !== null);
  return {
    ...(toText(row.system_prompt) !== undefined && { system_prompt: row.system_prompt }),
    ...(toText(row.model_config) !== undefined && { model_config: modelConfig ?? row.model_config }),
    hermes: {
      id,
      ...(entry !== undefined && { key: entry.key }),
      ...(title !== undefined && { title }),
      ...Object.fromEntries(columns),
    },
  };
}

const COUNTERS = ["input", "output", "cache_read", "cache_write", "reasoning"] as const;

/** The counters of the row, or of the index if the row has none. */
function mapUsage(
  row: HermesRow,
  entry: HermesRow,
  modelConfig: HermesRow | undefined,
  messages: readonly MappedMessage[],
): Usage {
  const counters = COUNTERS.some((name) => toCount(row[`${name}_tokens`]) > 0) ? row : entry;
  const [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens] = COUNTERS.map(
    (name) => toCount(counters[`${name}_tokens`]),
  );
  const meta = findSessionMeta(messages);
  const costUsd =
    toCost(row.actual_cost_usd) ?? toCost(row.estimated_cost_usd) ?? toCost(entry.estimated_cost_usd);
  const texts = {
    costStatus: toText(row.cost_status) ?? toText(entry.cost_status),
    costSource: toText(row.cost_source),
    model: toText(row.model) ?? toText(meta?.model),
    provider: toText(row.billing_provider) ?? toText(modelConfig?.provider),
    baseUrl: toText(row.billing_base_url) ?? toText(modelConfig?.base_url),
  };
  return addUsage(emptyUsage(), {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cacheReadTokens: cacheReadTokens ?? 0,
    cacheWriteTokens: cacheWriteTokens ?? 0,
    reasoningTokens: reasoningTokens ?? 0,
    lastPromptTokens: toCount(entry.last_prompt_tokens),
    ...(costUsd !== undefined && { costUsd }),
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)),
  });
}

function toCount(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : 0;
}

/** 0 counts as absent, because an unset cost is stored as 0. */
function toCost(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function parseObject(value: unknown): HermesRow | undefined {
  try {
    const json = typeof value === "string" ? parseJson(value) : undefined;
    return typeof json === "object" && json !== null && !Array.isArray(json)
      ? (json as HermesRow)
      : undefined;
  } catch {
    return undefined;
  }
}
