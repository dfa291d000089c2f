import type { Conversation, PolicyDecision } from "../../core/conversation.ts";
import { isHandle } from "../../core/ids.ts";
import type { Said, Shows, Versions } from "../../core/listing.ts";
import type { Message } from "../../core/message.ts";
import type { Asker } from "../../core/owner.ts";
import type { Session } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import { findByTitle as bestTitle } from "../../core/titles.ts";
import { type ClosedPiece, shownPieces, viewLength } from "../../core/view.ts";
import type { Ask, Shape } from "../../ports/store.ts";
import type { Db } from "./connection.ts";
import { keyOf, sessionRow } from "./routing.ts";
import {
  type ConversationRow,
  messageId,
  SEQ_BITS,
  type SessionRow,
  toConversation,
  toMessage,
  toSession,
} from "./rows.ts";
import { knownConversation, speaksIn } from "./sessions.ts";
import { shownAt, viewOf } from "./shapes.ts";
import * as sql from "./sql.ts";
import { ownedSession, visible, visibleSql } from "./visible.ts";

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
          "select * from conversations where platform = ? and chat_type = ? and chat_id = ? and thread_id = ? order by n",
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

export function history(db: Db, input: Shows): Message[] | undefined {
  const session = ownedSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  const { offset = 0, limit = Number.POSITIVE_INFINITY } = input;
  const messages: Message[] = [];
  let skip = offset;
  for (const piece of shownPieces(viewOf(db, session))) {
    const length = piece.to - piece.from + 1;
    if (skip >= length) {
      skip -= length;
      continue;
    }
    const from = piece.from + skip;
    const to = Math.min(piece.to, from + (limit - messages.length) - 1);
    skip = 0;
    if (to < from) break;
    readRun(db, messages, { session: piece.session, from, to }, session);
  }
  return messages;
}

/** How many messages a history would bring, to decide which thread reads it. */
export function historyLength(db: Db, input: Shows): number {
  const session = ownedSession(db, input.asker, input.session);
  if (session === undefined) return 0;
  return Math.min(
    input.limit ?? Number.POSITIVE_INFINITY,
    viewLength(viewOf(db, session)) - (input.offset ?? 0),
  );
}

function readRun(db: Db, messages: Message[], run: ClosedPiece, session: SessionRow): void {
  const id = run.session === session.n ? session.id : sessionRow(db, run.session).id;
  for (const row of db.rows(
    sql.messagesBetween,
    messageId(run.session, run.from),
    messageId(run.session, run.to),
  )) {
    messages.push(toMessage(row, id));
  }
}

export function messages(db: Db, input: Said): Message[] | undefined {
  const session = ownedSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  return db
    .rows(
      sql.messagesBetweenLimited,
      messageId(session.n, (input.after ?? 0) + 1),
      messageId(session.n, SEQ_BITS - 1),
      input.limit ?? -1,
    )
    .map((row) => toMessage(row, session.id));
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
    .all<{
      at: number;
      decision: PolicyDecision["decision"];
      reason: string | null;
      active_at: number | null;
      idle_before: number | null;
      daily_before: number | null;
      from_session: string | null;
      to_session: string | null;
    }>("select * from decisions where conversation = ? order by n desc", input.conversation)
    .map((row) => ({
      at: row.at,
      decision: row.decision,
      ...(row.reason !== null && { reason: row.reason }),
      ...(row.active_at !== null && { activeAt: row.active_at }),
      ...(row.idle_before !== null && { idleBefore: row.idle_before }),
      ...(row.daily_before !== null && { dailyBefore: row.daily_before }),
      ...(row.from_session !== null && { from: row.from_session }),
      ...(row.to_session !== null && { to: row.to_session }),
    }));
}

export function blob(db: Db, input: { asker: Asker; hash: string }): Uint8Array | undefined {
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

export function work(db: Db, _input: { now: number }): string[] {
  return db
    .all<{ id: string }>(
      `select id from sessions where n in (
         select session from turns where state = 'running'
         union select c.session from inbox i join conversations c on c.n = i.conversation where i.state = 0)`,
    )
    .map((row) => row.id);
}

export function cursor(db: Db, input: { name: string }): string | undefined {
  return db.get<{ value: string }>(sql.cursorByName, input.name)?.value;
}
