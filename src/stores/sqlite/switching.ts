import type { Opened } from "../../core/conversation.ts";
import { type Asker, chatOf, isEveryone, maySee } from "../../core/owner.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { NewSession } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import type { Ask } from "../../ports/store.ts";
import { useBlobs } from "./append.ts";
import type { Db } from "./connection.ts";
import { createSession, decide, opened, ownerOf, point, sessionRow } from "./routing.ts";
import { type ConversationRow, messageId, type SessionRow, toMessage } from "./rows.ts";
import * as sql from "./sql.ts";
import { visible } from "./visible.ts";

export const noConversation: Refused = refuse("not_found", "There is no such conversation.");
export const noSession: Refused = refuse("not_found", "There is no such session.");

export function reset(
  db: Db,
  input: { asker: Asker; conversation: number; newSession: NewSession; now: number },
): Opened | Refused {
  const { now } = input;
  const conversation = knownConversation(db, input.asker, input.conversation);
  if (conversation === undefined) return noConversation;
  const old = sessionRow(db, conversation.session);
  const source = sourceOf(conversation);
  const owner = ownerOf(source, conversation.person ?? undefined);
  const session = createSession(db, input.newSession, { profile: conversation.profile, owner, now, source });
  db.run(
    "update sessions set origin = ?, display_name = ? where n = ?",
    old.origin,
    old.display_name,
    session.n,
  );
  point(db, conversation, session, "new", now);
  decide(db, conversation.n, now, "new", { from: old.id, to: session.id });
  return opened(db, conversation.n, { created: true, scopeKept: false });
}

export function switchTo(db: Db, input: Ask & { conversation: number; now: number }): Opened | Refused {
  const conversation = knownConversation(db, input.asker, input.conversation);
  if (conversation === undefined) return noConversation;
  const target = keptSession(db, input.session);
  return target === undefined ? noSession : moveTo(db, input.asker, conversation, target, input.now);
}

/** A session by its id, whoever asks, unless it was removed. */
export function keptSession(db: Db, id: string): SessionRow | undefined {
  const found = db.get<SessionRow>(sql.sessionById, id);
  return found?.removed_at === null ? found : undefined;
}

/** The conversation points at the session, unless somebody who reads there may not see it. */
export function moveTo(
  db: Db,
  asker: Asker,
  conversation: ConversationRow,
  target: SessionRow,
  now: number,
  scopeKept = false,
): Opened | Refused {
  const refused = notForAll(asker, conversation, target);
  if (refused !== undefined) return refused;
  const here = { created: false, scopeKept };
  // What has expired is left already, though nothing new has begun there.
  if (target.n === conversation.session && conversation.expired === null)
    return opened(db, conversation.n, here);
  const from = sessionRow(db, conversation.session);
  const busy = leaveChat(db, conversation, target, now);
  if (busy !== undefined) return busy;
  point(db, conversation, target, "switch", now);
  decide(db, conversation.n, now, "switched", { from: from.id, to: target.id });
  return opened(db, conversation.n, here);
}

/** Everyone who reads in a conversation, as one who asks. */
export function readersIn(source: PlainSource, person: string | undefined): Asker {
  const chat = chatOf(source);
  return { person: person ?? chat ?? "", ...(chat !== undefined && { chat }) };
}

/** Everyone who reads in this place must be one who may see the session. */
export function notForAll(asker: Asker, place: PlaceRow, target: SessionRow): Refused | undefined {
  const readers = readersIn(sourceOf(place), place.person ?? undefined);
  if (visible(readers, target)) return undefined;
  // Said only to whom it belongs; to anyone else it is simply not theirs.
  const own = !isEveryone(asker) && maySee({ person: asker.person }, { owner: target.owner });
  return own
    ? refuse(
        "not_allowed",
        "That session is private, and others read along in this chat. Resume it in a direct chat.",
      )
    : refuse("not_allowed", "That session belongs to someone else.");
}

/** A chat's session that goes on in a place where its people do not read leaves the chat. */
export function leaveChat(db: Db, to: PlaceRow, session: SessionRow, now: number): Refused | undefined {
  if (session.audience === null || chatOf(sourceOf(to)) !== undefined) return undefined;
  return makePrivate(db, session, now);
}

/**
 * A session goes from a chat into private: what is said from now on, the chat does not see. So the chat's
 * conversations leave it in the same step, with what waits there, and forks keep the bytes that they show.
 */
function makePrivate(db: Db, session: SessionRow, now: number): Refused | undefined {
  if (db.get(sql.runningTurn, session.n) !== undefined) {
    return refuse(
      "session_busy",
      "An answer is being written in that session. Stop it or wait for it first.",
    );
  }
  db.run("update sessions set audience = null where n = ?", session.n);
  for (const left of db.all<ConversationRow>("select * from conversations where session = ?", session.n)) {
    const source = sourceOf(left);
    if (chatOf(source) === undefined) continue;
    const owner = ownerOf(source, left.person ?? undefined);
    const fresh = createSession(
      db,
      { id: crypto.randomUUID(), kind: session.kind },
      { profile: left.profile, owner, now, source },
    );
    const { active_at } = left;
    point(db, left, fresh, "switch", active_at);
    decide(db, left.n, now, "new", { reason: "its session became private", from: session.id, to: fresh.id });
  }
  for (const { session: fork, from_seq, to_seq } of db.all<ShownElsewhere>(sql.piecesElsewhere, session.n)) {
    const shown = db.rows(sql.messagesBetween, messageId(session.n, from_seq), messageId(session.n, to_seq));
    for (const row of shown) if (row[4] !== null) useBlobs(db, fork, toMessage(row, session.id));
  }
  return undefined;
}

interface ShownElsewhere {
  session: number;
  from_seq: number;
  to_seq: number;
}

/** A conversation that the asker speaks in. */
export function knownConversation(db: Db, asker: Asker, n: number): ConversationRow | undefined {
  const row = db.get<ConversationRow>(sql.conversationByNumber, n);
  return row !== undefined && speaksIn(asker, row) ? row : undefined;
}

export function speaksIn(asker: Asker, row: PlaceRow): boolean {
  if (isEveryone(asker)) return true;
  const chat = chatOf(sourceOf(row));
  if (row.person === null) return asker.chat === chat;
  // Asked in a chat, the answer is read by all there: it must be that chat's conversation.
  return row.person === asker.person && (asker.chat === undefined || asker.chat === chat);
}

export type PlainSource = Pick<Source, "platform" | "chatType" | "chatId" | "threadId">;

/** Where a conversation takes place, or would, and whose it is. */
export type PlaceRow = Pick<ConversationRow, "platform" | "chat_type" | "chat_id" | "thread_id" | "person">;

export function sourceOf(row: PlaceRow): PlainSource {
  return {
    platform: row.platform,
    chatType: row.chat_type,
    chatId: row.chat_id,
    ...(row.thread_id !== "" && { threadId: row.thread_id }),
  };
}
