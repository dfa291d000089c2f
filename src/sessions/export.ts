import { PostriderError } from "../core/errors.ts";
import { assertSessionId } from "../core/ids.ts";
import {
  expectArray,
  expectObject,
  instantFromJson,
  type JsonObject,
  messageFromJson,
  messageToJson,
  sessionToJson,
  textFromJson,
  usageEntryFromJson,
  usageEntryToJson,
  usageFromJson,
} from "../core/json.ts";
import { checkMessage, countToolCalls, isHuman, type Message, type NewMessage } from "../core/message.ts";
import { type Asker, OWNER } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  checkEndReason,
  type EndReason,
  type NewSession,
  SESSION_KINDS,
  type Session,
} from "../core/session.ts";
import { sourceFromJson } from "../core/source.ts";
import { cleanTitle } from "../core/titles.ts";
import type { Blob } from "../core/turn.ts";
import { addUsage, sumUsage, type Usage, type UsageEntry } from "../core/usage.ts";
import type { SeqRange } from "../core/view.ts";
import type { ViewRanges } from "../ports/message-store.ts";
import type { Store } from "../ports/store.ts";
import { createBlob } from "./message-input.ts";

/** A session as plain JSON. `shows` and `hidden` are ranges of positions in `messages`, starting at 1. */
export interface SessionExport {
  readonly format: "postrider.session";
  readonly version: 1;
  readonly session: JsonObject;
  /** The session's own messages in order, so that their position is their seq; then those that it shows from others. */
  readonly messages: readonly JsonObject[];
  readonly shows: readonly SeqRange[];
  readonly hidden: readonly SeqRange[];
  /** The usage by time, purpose and model. Adds up to the session's counters. */
  readonly usage: readonly JsonObject[];
  /** The bytes of parts as base64, by hash. */
  readonly blobs: Readonly<Record<string, string>>;
}

/** Exports all own messages, and of other sessions only the messages that the view shows. */
export async function exportSession(
  store: Store,
  asker: Asker,
  id: string,
): Promise<SessionExport | undefined> {
  const session = await store.sessions.getSession({ asker, session: assertSessionId(id) });
  const view = await store.messages.getViewRanges({ asker, session: id });
  const stored = await store.messages.listMessages({ asker, session: id });
  const shown = await store.messages.readHistory({ asker, session: id });
  const entries = await store.sessions.listUsageEntries({ asker, session: id });
  if (session === undefined || view === undefined || stored === undefined) return undefined;
  if (shown === undefined || entries === undefined) return undefined;
  const refs = listMessageRefs(view);
  // Starts over if the view changed between two reads. Messages appended meanwhile are left out.
  if (refs.some((ref, index) => ref !== formatMessageRef(shown[index])))
    return exportSession(store, asker, id);
  const own = stored.slice(0, Math.max(session.messageCount, findLastOwn(view, id)));
  const all = [...own, ...shown.slice(0, refs.length).filter((message) => message.session !== id)];
  const positions = new Map(all.map((message, index) => [formatMessageRef(message), index + 1]));
  return {
    format: "postrider.session",
    version: 1,
    session: sessionToJson({
      ...session,
      ...computeCounters(all),
      usage: reconcileUsage(session.usage, entries),
    }),
    messages: all.map(messageToJson),
    shows: groupRuns(refs.flatMap((ref) => positions.get(ref) ?? [])),
    hidden: view.hidden,
    usage: entries.map(usageEntryToJson),
    blobs: await readBlobs(store, asker, all),
  };
}

/** The counters of the exported messages, so that they are the same after an import. */
function computeCounters(
  all: readonly Message[],
): Pick<Session, "messageCount" | "humanCount" | "toolCallCount"> {
  return {
    messageCount: all.length,
    humanCount: all.filter(isHuman).length,
    toolCallCount: all.reduce((sum, message) => sum + countToolCalls(message), 0),
  };
}

/** Uses the sum of the entries if they are newer than the session's counters. */
function reconcileUsage(usage: Usage, entries: readonly UsageEntry[]): Usage {
  if (entries.length === 0) return usage;
  const { lastPromptTokens, model, provider, baseUrl } = usage;
  const kept = {
    lastPromptTokens,
    ...optional("model", model),
    ...optional("provider", provider),
    ...optional("baseUrl", baseUrl),
  };
  const sum = addUsage(sumUsage(entries.map((entry) => entry.usage)), kept);
  return sum.totalTokens === usage.totalTokens ? usage : sum;
}

function formatMessageRef(message: Pick<Message, "session" | "seq"> | undefined): string {
  return `${message?.session}/${message?.seq}`;
}

function listMessageRefs({ pieces }: ViewRanges): string[] {
  return pieces.flatMap(({ session, from, to }) =>
    Array.from({ length: to - from + 1 }, (_, i) => formatMessageRef({ session, seq: from + i })),
  );
}

function findLastOwn({ pieces, hidden }: ViewRanges, id: string): number {
  return Math.max(0, ...[...pieces.filter(({ session }) => session === id), ...hidden].map(({ to }) => to));
}

function groupRuns(positions: readonly number[]): SeqRange[] {
  const ranges: SeqRange[] = [];
  for (const position of positions) {
    const last = ranges.at(-1);
    if (last !== undefined && last.to + 1 === position)
      ranges[ranges.length - 1] = { from: last.from, to: position };
    else ranges.push({ from: position, to: position });
  }
  return ranges;
}

async function readBlobs(
  store: Store,
  asker: Asker,
  messages: readonly Message[],
): Promise<Record<string, string>> {
  const blobs: Record<string, string> = {};
  for (const hash of collectHashes(messages)) {
    const bytes = await store.messages.readBlob({ asker, hash });
    if (bytes === undefined) {
      throw new PostriderError("corrupt", "The bytes of an attachment are missing: nothing was exported.", {
        details: { hash },
      });
    }
    blobs[hash] = Buffer.from(bytes).toString("base64");
  }
  return blobs;
}

function collectHashes(messages: readonly Pick<NewMessage, "parts">[]): ReadonlySet<string> {
  const parts = messages.flatMap((message) => message.parts);
  return new Set(parts.flatMap((part) => ("blob" in part && part.blob !== undefined ? [part.blob] : [])));
}

/** Imports an exported session. Checks everything first, then stores it in one commit. */
export async function importSessionJson(
  store: Store,
  json: unknown,
  options: { readonly profile: string; readonly now: number; readonly owner?: string },
): Promise<Session> {
  const file = expectObject(json, "export");
  if (file.format !== "postrider.session" || file.version !== 1) {
    const sentence = 'That is not a session that Postrider exported (format "postrider.session", version 1).';
    throw invalid("format", sentence);
  }
  const session = expectObject(file.session, "session");
  const messages = expectArray(file.messages, "messages").map((message, index) => {
    const checked = checkMessage(messageFromJson(message, `messages[${index}]`));
    return { ...checked, at: checked.at ?? options.now };
  });
  const shows = parseRanges(file.shows, "shows", messages.length);
  const hidden = parseRanges(file.hidden, "hidden", messages.length);
  assertDisjoint([...shows, ...hidden]);
  const usage = usageFromJson(session);
  const usageEntries = expectArray(file.usage ?? [], "usage").map((entry, index) =>
    usageEntryFromJson(entry, `usage[${index}]`),
  );
  if (usageEntries.length > 0) assertSum(usage, usageEntries);
  const imported = await store.sessions.importSession({
    session: { ...parseSession(session), owner: options.owner ?? textFromJson(session, "owner") ?? OWNER },
    usage,
    usageEntries,
    createdAt: instantFromJson(session, "created_at") ?? options.now,
    messages,
    blobs: parseBlobs(expectObject(file.blobs, "blobs"), messages),
    shows,
    hidden,
    profile: options.profile,
    now: options.now,
    ...(session.origin !== null &&
      session.origin !== undefined && { origin: sourceFromJson(session.origin) }),
    ...optional("audience", textFromJson(session, "audience")),
    ...optional("displayName", textFromJson(session, "display_name")),
    ...optional("endedAt", instantFromJson(session, "ended_at")),
    ...optional("endReason", parseEndReason(session)),
    ...optional("archivedAt", instantFromJson(session, "archived_at")),
    ...optional("parent", textFromJson(session, "parent_session_id")),
  });
  return throwIfRefused(imported);
}

function parseEndReason(session: JsonObject): EndReason | undefined {
  const reason = textFromJson(session, "end_reason");
  return reason === undefined ? undefined : checkEndReason(reason, "end_reason");
}

function parseSession(json: JsonObject): NewSession {
  const title = textFromJson(json, "title");
  return {
    id: assertSessionId(textFromJson(json, "id") ?? ""),
    kind: oneOf(SESSION_KINDS, json, "kind") ?? "chat",
    ...optional("title", title === undefined ? undefined : cleanTitle(title)),
    ...optional("cwd", textFromJson(json, "cwd")),
    ...(json.config !== null && json.config !== undefined && { config: expectObject(json.config, "config") }),
  };
}

/** Reads only bytes that the messages refer to, and checks each hash, so that altered bytes are rejected. */
function parseBlobs(json: JsonObject, messages: readonly NewMessage[]): Blob[] {
  return [...collectHashes(messages)].map((hash) => {
    const field = `blobs.${hash}`;
    const blob = createBlob(Buffer.from(textFromJson(json, hash) ?? "", "base64"), field);
    if (blob.hash === hash) return blob;
    throw invalid(field, `The bytes under ${hash.slice(0, 12)}… are missing or do not have that hash.`);
  });
}

function parseRanges(json: unknown, field: string, length: number): SeqRange[] {
  return expectArray(json, field).map((range, index) => {
    const { from, to } = expectObject(range, `${field}[${index}]`);
    if (Number.isSafeInteger(from) && Number.isSafeInteger(to)) {
      const checked = { from: Number(from), to: Number(to) };
      if (1 <= checked.from && checked.from <= checked.to && checked.to <= length) return checked;
    }
    throw invalid(`${field}[${index}]`, `${field}[${index}] is not a range of the ${length} messages.`);
  });
}

/** A message is either shown once or hidden. */
function assertDisjoint(all: readonly SeqRange[]): void {
  const sorted = all.toSorted((a, b) => a.from - b.from);
  const twice = sorted.find((range, index) => range.from <= (sorted[index - 1]?.to ?? 0));
  if (twice === undefined) return;
  throw invalid("shows", `Message ${twice.from} is shown or hidden more than once.`);
}

/** The counters must be exactly the sum of the entries. */
function assertSum(usage: Usage, entries: readonly UsageEntry[]): void {
  const sum = sumUsage(entries.map((entry) => entry.usage));
  const counters = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens"];
  const isSum = (counters as (keyof Usage)[]).every((name) => sum[name] === usage[name]);
  if (!isSum) throw invalid("usage", "The entries of usage do not add up to the counters of the session.");
}

function oneOf<T extends string>(known: readonly T[], json: JsonObject, name: string): T | undefined {
  const text = textFromJson(json, name);
  const found = known.find((value) => value === text);
  if (text === undefined || found !== undefined) return found;
  throw invalid(name, `${name} must be one of ${known.join(", ")}.`);
}

function optional<Name extends string, Value>(name: Name, value: Value | undefined): { [N in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: Value };
}

function invalid(field: string, sentence: string): PostriderError {
  return new PostriderError("invalid_input", sentence, { details: { field } });
}
