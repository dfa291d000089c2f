import type { Conversation, PolicyDecision } from "../../core/conversation.ts";
import { isHandle } from "../../core/ids.ts";
import type { Said, Shows, Versions } from "../../core/listing.ts";
import type { Message, NewMessage } from "../../core/message.ts";
import { type Asker, isEveryone } from "../../core/owner.ts";
import type { Session } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import { findByTitle as bestTitle } from "../../core/titles.ts";
import type { Growing, SaidSoFar } from "../../core/turn.ts";
import { shownPieces } from "../../core/view.ts";
import type { Ask, Shape } from "../../ports/store.ts";
import type { Db } from "./connection.ts";
import { parseObject } from "./json-columns.ts";
import { keyOf, sessionRow } from "./routing.ts";
import {
  type ConversationRow,
  messageId,
  type SessionRow,
  toConversation,
  toMessage,
  toSession,
} from "./rows.ts";
import { left } from "./runners.ts";
import { shownAt } from "./shapes.ts";
import * as sql from "./sql.ts";
import { knownConversation, speaksIn } from "./switching.ts";
import { reachable } from "./takeable.ts";
import { viewOf } from "./views.ts";
import { ownedSession, readableSession, visible, visibleSql } from "./visible.ts";

export function find(db: Db, input: { asker: Asker; text: string }): Session[] {
  const { asker, text } = input;
  const exact = [
    db.get<SessionRow>(sql.sessionById, text),
    isHandle(text) ? db.get<SessionRow>(sql.sessionByHandle, text) : undefined,
  ].find((row) => row !== undefined && row.removed_at === null && visible(asker, row));
  if (exact !== undefined) return [toSession(exact)];
  if (text === "") return [];
  const { where, values } = visibleSql(asker);
  // A range, not LIKE: an underscore in an id is an underscore.
  return db
    .all<SessionRow>(
      `select s.* from sessions s where s.id >= ? and s.id < ? and s.removed_at is null and ${where} order by s.id limit 10`,
      text,
      `${text}\u{10ffff}`,
      ...values,
    )
    .map(toSession);
}

export function findByTitle(db: Db, input: { asker: Asker; title: string }): Session | undefined {
  const { where, values } = visibleSql(input.asker);
  const titled = db.all<SessionRow & { title: string }>(
    `select s.* from sessions s where s.title is not null and s.removed_at is null and ${where}`,
    ...values,
  );
  const best = bestTitle(input.title, titled);
  return best === undefined ? undefined : toSession(best);
}

export function conversations(
  db: Db,
  input: { asker: Asker; source?: Source; session?: string },
): Conversation[] {
  const { asker, source, session } = input;
  const rows =
    source !== undefined
      ? db.all<ConversationRow>(
          sql.conversationsOf,
          source.platform,
          source.chatType,
          source.chatId,
          source.threadId ?? "",
        )
      : session !== undefined
        ? db.all<ConversationRow>(
            "select c.* from conversations c join sessions s on s.n = c.session where s.id = ? order by c.n",
            session,
          )
        : [];
  return rows
    .filter((row) => speaksIn(asker, row))
    .map((row) => toConversation(row, keyOf(db, row), sessionRow(db, row.session).id));
}

/** A run of messages to read: whose they are, and their first and last id. */
export interface Run {
  readonly session: string;
  readonly first: number;
  readonly last: number;
}

export function history(db: Db, input: Shows): Message[] | undefined {
  const runs = historyRuns(db, input);
  return runs && readRuns(db, runs);
}

/** Where the messages of a history lie. The list is short, whatever the length of the history. */
export function historyRuns(db: Db, input: Shows): Run[] | undefined {
  const session = readableSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  const runs: Run[] = [];
  let skip = input.offset ?? 0;
  let left = input.limit ?? Number.POSITIVE_INFINITY;
  for (const piece of shownPieces(viewOf(db, session))) {
    const length = piece.to - piece.from + 1;
    const skipped = Math.min(skip, length);
    const taken = Math.min(left, length - skipped);
    skip -= skipped;
    left -= taken;
    if (taken <= 0) continue;
    const first = messageId(piece.session, piece.from + skipped);
    const id = piece.session === session.n ? session.id : sessionRow(db, piece.session).id;
    runs.push({ session: id, first, last: first + taken - 1 });
  }
  return runs;
}

export function messages(db: Db, input: Said): Message[] | undefined {
  const runs = messagesRuns(db, input);
  return runs && readRuns(db, runs);
}

export function messagesRuns(db: Db, input: Said): Run[] | undefined {
  const session = readableSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  const after = input.after ?? 0;
  const count = Math.min(input.limit ?? Number.POSITIVE_INFINITY, session.next_seq - 1 - after);
  if (count <= 0) return [];
  const first = messageId(session.n, after + 1);
  return [{ session: session.id, first, last: first + count - 1 }];
}

export function readRuns(db: Db, runs: readonly Run[]): Message[] {
  const [only] = runs;
  if (only !== undefined && runs.length === 1) return toMessages(only, rows(db, only));
  return runs.flatMap((run) => toMessages(run, rows(db, run)));
}

/** The rows as they are: arrays cross from thread to thread at half the cost of messages. */
export function rows(db: Db, { first, last }: Run): unknown[][] {
  return db.rows(sql.messagesBetween, first, last);
}

export function toMessages({ session }: Run, found: readonly unknown[][]): Message[] {
  return found.map((row) => toMessage(row, session));
}

export function lengthOf({ first, last }: Run): number {
  return last - first + 1;
}

/** The same messages in runs of at most `length`. */
export function divided(runs: readonly Run[], length: number): Run[] {
  return runs.flatMap(({ session, first, last }) =>
    Array.from({ length: Math.ceil((last - first + 1) / length) }, (_, at) => {
      const from = first + at * length;
      return { session, first: from, last: Math.min(last, from + length - 1) };
    }),
  );
}

export function shape(db: Db, input: Ask): Shape | undefined {
  const session = ownedSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  const view = viewOf(db, session);
  const pieces = shownPieces(view).map(({ session: n, from, to }) => ({
    session: sessionRow(db, n).id,
    from,
    to,
  }));
  return { pieces, hidden: view.hidden };
}

export function versions(db: Db, input: Ask): Versions[] {
  const session = ownedSession(db, input.asker, input.session);
  if (session === undefined) return [];
  return db
    .all<{ version: number; kind: string; at: number }>(
      "select version, kind, at from views where session = ? order by version desc",
      session.n,
    )
    .map(({ version, kind, at }) => {
      const shown = shownAt(db, session, version) ?? [];
      return { version, kind, at, length: shown.reduce((sum, piece) => sum + piece.to - piece.from + 1, 0) };
    });
}

export function decisions(db: Db, input: { asker: Asker; conversation: number }): PolicyDecision[] {
  if (knownConversation(db, input.asker, input.conversation) === undefined) return [];
  return db
    .all<DecisionRow>("select * from decisions where conversation = ? order by n desc", input.conversation)
    .map(toDecision);
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

export function blob(db: Db, input: { asker: Asker; hash: string }): Uint8Array | undefined {
  if (isEveryone(input.asker)) {
    // Also those of deliveries that belong to no session.
    const found = db.get<{ bytes: Uint8Array }>(sql.blobBytes, input.hash);
    return found && new Uint8Array(found.bytes);
  }
  const { where, values } = visibleSql(input.asker);
  const row = db.get<{ bytes: Uint8Array }>(
    `select b.bytes from blobs b where b.hash = ? and exists (
       select 1 from blob_uses u join sessions s on s.n = u.session where u.hash = b.hash and ${where})`,
    input.hash,
    ...values,
  );
  return row === undefined ? undefined : new Uint8Array(row.bytes);
}

export function hasOther(db: Db, input: Ask): boolean {
  const { where, values } = visibleSql(input.asker);
  return (
    db.get(
      `select 1 from sessions s where ${where} and s.removed_at is null and s.id <> ? limit 1`,
      ...values,
      input.session,
    ) !== undefined
  );
}

export function waiting(db: Db, input: Ask): NewMessage[] {
  const session = readableSession(db, input.asker, input.session);
  if (session === undefined) return [];
  const rows = db.all<{ message: string }>(sql.waitingInSession, session.n);
  return rows.flatMap((row) => parseObject<NewMessage>(row.message) ?? []);
}

export function growing(db: Db, input: Ask): Growing | undefined {
  const session = readableSession(db, input.asker, input.session);
  const row = session && db.get<{ seq: number; said: string }>(sql.growing, session.n);
  const said = parseObject<SaidSoFar>(row?.said ?? null);
  return row && said && { seq: row.seq, said };
}

/** One place per session: where the turn that runs is answered, else where the next one would be. */
export function work(db: Db, { now }: { now: number }): { session: string; platform: string }[] {
  const running = db.all<WorkRow>(sql.runningTurns);
  const waiting = reachable(db, db.all<WorkRow>(sql.sessionsWithWaiting), now);
  const platforms = new Map<string, string>();
  for (const { id, platform } of [...running, ...waiting])
    if (!platforms.has(id)) platforms.set(id, platform);
  const sessions = new Set(left(db, [...waiting, ...running], now).map(({ id }) => id));
  return [...sessions].map((session) => ({ session, platform: platforms.get(session) ?? "" }));
}

interface WorkRow {
  id: string;
  runner: string | null;
  platform: string;
}

export function cursor(db: Db, input: { name: string }): string | undefined {
  return db.get<{ value: string }>(sql.cursorByName, input.name)?.value;
}
