import type { Conversation, PolicyDecision } from "../../core/conversation.ts";
import { isHandle } from "../../core/ids.ts";
import type { HistoryQuery, MessageRangeQuery, ViewVersion } from "../../core/listing.ts";
import type { Message, NewMessage } from "../../core/message.ts";
import { type Asker, isEveryone } from "../../core/owner.ts";
import type { Session } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import { findTitleMatch } from "../../core/titles.ts";
import type { AnswerDraft, MessageDraft } from "../../core/turn.ts";
import { listShownPieces } from "../../core/view.ts";
import type { ViewRanges } from "../../ports/message-store.ts";
import type { SessionRequest } from "../../ports/store-request.ts";
import { readVersionPieces } from "./change-view.ts";
import { filterReachable } from "./claimable.ts";
import type { Db } from "./db.ts";
import { parseObject } from "./json-columns.ts";
import { buildConversationKey, getSessionRow } from "./routing.ts";
import {
  type ConversationRow,
  type SessionRow,
  toConversation,
  toMessage,
  toMessageId,
  toSession,
} from "./rows.ts";
import { filterOrphaned } from "./runners.ts";
import { blobBytesSql, buildVisibleBlobSql } from "./statements/blobs.ts";
import { conversationsBySessionIdSql, conversationsInChatSql } from "./statements/conversations.ts";
import { decisionsInConversationSql } from "./statements/decisions.ts";
import { cursorByNameSql, pendingInSessionSql, sessionsWithPendingSql } from "./statements/inbox.ts";
import { messagesBetweenSql } from "./statements/messages.ts";
import {
  buildOtherSessionSql,
  buildSessionsByPrefixSql,
  buildTitledSessionsSql,
} from "./statements/session-lists.ts";
import { sessionByHandleSql, sessionByIdSql } from "./statements/sessions.ts";
import { runningTurnsSql, turnDraftSql } from "./statements/turns.ts";
import { viewVersionsSql } from "./statements/views.ts";
import { canSpeakIn, findConversationRow } from "./switching.ts";
import { readView } from "./views.ts";
import { buildVisibleCondition, findReadableSession, findVisibleSession, isVisible } from "./visibility.ts";

export function getSession(db: Db, { asker, session }: SessionRequest): Session | undefined {
  const row = findVisibleSession(db, asker, session);
  return row && toSession(row);
}

export function find(db: Db, input: { asker: Asker; text: string }): Session[] {
  const { asker, text } = input;
  const exact = [
    db.get<SessionRow>(sessionByIdSql, text),
    isHandle(text) ? db.get<SessionRow>(sessionByHandleSql, text) : undefined,
  ].find((row) => row !== undefined && row.removed_at === null && isVisible(asker, row));
  if (exact !== undefined) return [toSession(exact)];
  if (text === "") return [];
  const { where, values } = buildVisibleCondition(asker);
  return db
    .all<SessionRow>(buildSessionsByPrefixSql(where), text, `${text}\u{10ffff}`, ...values)
    .map(toSession);
}

export function findByTitle(db: Db, input: { asker: Asker; title: string }): Session | undefined {
  const { where, values } = buildVisibleCondition(input.asker);
  const titled = db.all<SessionRow & { title: string }>(buildTitledSessionsSql(where), ...values);
  const best = findTitleMatch(input.title, titled);
  return best === undefined ? undefined : toSession(best);
}

export function findConversations(
  db: Db,
  input: { asker: Asker; source?: Source; session?: string },
): Conversation[] {
  const { asker, source, session } = input;
  const rows =
    source !== undefined
      ? db.all<ConversationRow>(
          conversationsInChatSql,
          source.platform,
          source.chatType,
          source.chatId,
          source.threadId ?? "",
        )
      : session !== undefined
        ? db.all<ConversationRow>(conversationsBySessionIdSql, session)
        : [];
  return rows
    .filter((row) => canSpeakIn(asker, row))
    .map((row) => toConversation(row, buildConversationKey(db, row), getSessionRow(db, row.session).id));
}

/** A range of messages to read: their session, and the first and last id. */
export interface MessageRun {
  readonly session: string;
  readonly first: number;
  readonly last: number;
}

export function readHistory(db: Db, input: HistoryQuery): Message[] | undefined {
  const runs = findHistoryRuns(db, input);
  return runs && readMessageRuns(db, runs);
}

/** The ranges of messages in a history. The list is short, whatever the length of the history. */
export function findHistoryRuns(db: Db, input: HistoryQuery): MessageRun[] | undefined {
  const session = findReadableSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  const runs: MessageRun[] = [];
  let skip = input.offset ?? 0;
  let left = input.limit ?? Number.POSITIVE_INFINITY;
  for (const piece of listShownPieces(readView(db, session))) {
    const length = piece.to - piece.from + 1;
    const skipped = Math.min(skip, length);
    const taken = Math.min(left, length - skipped);
    skip -= skipped;
    left -= taken;
    if (taken <= 0) continue;
    const first = toMessageId(piece.session, piece.from + skipped);
    const id = piece.session === session.n ? session.id : getSessionRow(db, piece.session).id;
    runs.push({ session: id, first, last: first + taken - 1 });
  }
  return runs;
}

export function listMessages(db: Db, input: MessageRangeQuery): Message[] | undefined {
  const runs = findMessageRuns(db, input);
  return runs && readMessageRuns(db, runs);
}

export function findMessageRuns(db: Db, input: MessageRangeQuery): MessageRun[] | undefined {
  const session = findReadableSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  const after = input.after ?? 0;
  const count = Math.min(input.limit ?? Number.POSITIVE_INFINITY, session.next_seq - 1 - after);
  if (count <= 0) return [];
  const first = toMessageId(session.n, after + 1);
  return [{ session: session.id, first, last: first + count - 1 }];
}

export function readMessageRuns(db: Db, runs: readonly MessageRun[]): Message[] {
  const [only] = runs;
  if (only !== undefined && runs.length === 1) return toMessages(only, readRunRows(db, only));
  return runs.flatMap((run) => toMessages(run, readRunRows(db, run)));
}

/** The raw rows: arrays cross threads at half the cost of messages. */
export function readRunRows(db: Db, { first, last }: MessageRun): unknown[][] {
  return db.rows(messagesBetweenSql, first, last);
}

export function toMessages({ session }: MessageRun, found: readonly unknown[][]): Message[] {
  return found.map((row) => toMessage(row, session));
}

export function getRunLength({ first, last }: MessageRun): number {
  return last - first + 1;
}

/** The same messages in runs of at most `length`. */
export function splitRuns(runs: readonly MessageRun[], length: number): MessageRun[] {
  return runs.flatMap(({ session, first, last }) =>
    Array.from({ length: Math.ceil((last - first + 1) / length) }, (_, at) => {
      const from = first + at * length;
      return { session, first: from, last: Math.min(last, from + length - 1) };
    }),
  );
}

export function getViewRanges(db: Db, input: SessionRequest): ViewRanges | undefined {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  const view = readView(db, session);
  const pieces = listShownPieces(view).map(({ session: n, from, to }) => ({
    session: getSessionRow(db, n).id,
    from,
    to,
  }));
  return { pieces, hidden: view.hidden };
}

export function listVersions(db: Db, input: SessionRequest): ViewVersion[] {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return [];
  return db
    .all<{ version: number; kind: string; at: number }>(viewVersionsSql, session.n)
    .map(({ version, kind, at }) => {
      const shown = readVersionPieces(db, session, version) ?? [];
      return { version, kind, at, length: shown.reduce((sum, piece) => sum + piece.to - piece.from + 1, 0) };
    });
}

export function listDecisions(db: Db, input: { asker: Asker; conversation: number }): PolicyDecision[] {
  if (findConversationRow(db, input.asker, input.conversation) === undefined) return [];
  return db.all<DecisionRow>(decisionsInConversationSql, input.conversation).map(toDecision);
}

export interface DecisionRow {
  conversation: number;
  at: number;
  decision: PolicyDecision["decision"];
  reason: string | null;
  active_at: number | null;
  idle_before: number | null;
  daily_before: number | null;
  from_session: string | null;
  to_session: string | null;
}

export function toDecision(row: DecisionRow): PolicyDecision {
  return {
    at: row.at,
    decision: row.decision,
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.active_at !== null && { activeAt: row.active_at }),
    ...(row.idle_before !== null && { idleBefore: row.idle_before }),
    ...(row.daily_before !== null && { dailyBefore: row.daily_before }),
    ...(row.from_session !== null && { from: row.from_session }),
    ...(row.to_session !== null && { to: row.to_session }),
  };
}

export function readBlob(db: Db, input: { asker: Asker; hash: string }): Uint8Array | undefined {
  if (isEveryone(input.asker)) {
    // Also the blobs of deliveries without a session.
    const found = db.get<{ bytes: Uint8Array }>(blobBytesSql, input.hash);
    return found && new Uint8Array(found.bytes);
  }
  const { where, values } = buildVisibleCondition(input.asker);
  const row = db.get<{ bytes: Uint8Array }>(buildVisibleBlobSql(where), input.hash, ...values);
  return row === undefined ? undefined : new Uint8Array(row.bytes);
}

export function hasOther(db: Db, input: SessionRequest): boolean {
  const { where, values } = buildVisibleCondition(input.asker);
  return db.get(buildOtherSessionSql(where), ...values, input.session) !== undefined;
}

export function listPending(db: Db, input: SessionRequest): NewMessage[] {
  const session = findReadableSession(db, input.asker, input.session);
  if (session === undefined) return [];
  const rows = db.all<{ message: string }>(pendingInSessionSql, session.n);
  return rows.flatMap((row) => parseObject<NewMessage>(row.message) ?? []);
}

export function getDraft(db: Db, input: SessionRequest): MessageDraft | undefined {
  const session = findReadableSession(db, input.asker, input.session);
  const row = session && db.get<{ seq: number; said: string }>(turnDraftSql, session.n);
  const draft = parseObject<AnswerDraft>(row?.said ?? null);
  return row && draft && { seq: row.seq, answerDraft: draft };
}

/** One platform per session: that of the running turn, or else of the next one. */
export function listClaimable(db: Db, { now }: { now: number }): { session: string; platform: string }[] {
  const running = db.all<WorkRow>(runningTurnsSql);
  const pending = filterReachable(db, db.all<WorkRow>(sessionsWithPendingSql), now);
  const platforms = new Map<string, string>();
  for (const { id, platform } of [...running, ...pending])
    if (!platforms.has(id)) platforms.set(id, platform);
  const sessions = new Set(filterOrphaned(db, [...pending, ...running], now).map(({ id }) => id));
  return [...sessions].map((session) => ({ session, platform: platforms.get(session) ?? "" }));
}

interface WorkRow {
  id: string;
  runner: string | null;
  platform: string;
}

export function getCursor(db: Db, input: { name: string }): string | undefined {
  return db.get<{ value: string }>(cursorByNameSql, input.name)?.value;
}
