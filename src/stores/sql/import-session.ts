import { getChatAudience, type PersonId } from "../../core/owner.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { Session } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import type { ImportedConversation, ImportedMessages, ImportedSession } from "../../core/transfer.ts";
import { ensurePerson, resolveAccount, resolvePerson } from "./accounts.ts";
import { insertMessages } from "./append.ts";
import { writeImportedView } from "./change-view.ts";
import type { Db } from "./db.ts";
import {
  type ConversationLookup,
  type ConversationMatch,
  getSessionOwner,
  getSessionRow,
  insertConversationRow,
  insertSessionRow,
  lookUpConversation,
  pointConversation,
  recordDecision,
  resolveConversationPerson,
  toOriginColumns,
} from "./routing.ts";
import { type SessionRow, toSession } from "./rows.ts";
import { findFreeTitle } from "./sessions.ts";
import { touchConversationSql } from "./statements/conversations.ts";
import {
  growSessionSql,
  reopenSessionSql,
  sessionByIdSql,
  setImportedSessionSql,
  setTitleSql,
} from "./statements/sessions.ts";
import { getReaders } from "./switching.ts";
import { replaceUsage } from "./usage.ts";
import { isVisible } from "./visibility.ts";

export function importSession(db: Db, input: ImportedSession & { profile: string }): Session | Refused {
  const { session, now, createdAt } = input;
  if (db.get(sessionByIdSql, session.id) !== undefined) {
    return refuse("invalid_input", `There is a session ${session.id} already.`, { field: "id" });
  }
  const owner = session.owner ?? findImportOwner(db, input);
  if (owner === undefined)
    return refuse("invalid_input", "The session has no owner: set owner, account or conversations.", {
      field: "owner",
    });
  if (!owner.startsWith("chat:")) ensurePerson(db, owner, now);
  const { title: requested, ...rest } = session;
  const title = requested === undefined ? undefined : findFreeTitle(db, { owner }, requested);
  const created = insertSessionRow(
    db,
    { ...rest, ...(title !== undefined && { title }) },
    { profile: input.profile, owner, now: createdAt },
    input.parent,
  );
  const grown = insertMessages(db, created, input.messages, input.blobs, now);
  db.send(growSessionSql, grown.seqs.length, grown.lastAt, grown.humans, grown.toolCalls, created.n);
  const [origin, name] = input.origin === undefined ? [null, null] : toOriginColumns(input.origin);
  db.send(
    setImportedSessionSql,
    input.audience ?? findImportAudience(input) ?? null,
    input.origin?.platform ?? input.platform ?? null,
    origin,
    input.displayName ?? name,
    input.endedAt ?? null,
    input.endReason ?? null,
    input.archivedAt ?? null,
    created.n,
  );
  replaceUsage(db, getSessionRow(db, created.n), input.usage, input.usageEntries);
  writeImportedView(db, getSessionRow(db, created.n), input.shows, input.hidden, now);
  pointImportedConversations(db, getSessionRow(db, created.n), input);
  return toSession(getSessionRow(db, created.n));
}

export function importMessages(db: Db, input: ImportedMessages & { profile: string }): Session | Refused {
  const session = db.get<SessionRow>(sessionByIdSql, input.session);
  if (session === undefined || session.removed_at !== null)
    return refuse("not_found", "There is no such session.");
  if (session.next_seq - 1 !== input.after) {
    return refuse(
      "invalid_input",
      "The session has other messages here, so the imported messages do not follow it.",
      {
        field: "after",
      },
    );
  }
  if (input.messages.length > 0) {
    const grown = insertMessages(db, session, input.messages, input.blobs, input.now);
    db.send(growSessionSql, grown.seqs.length, grown.lastAt, grown.humans, grown.toolCalls, session.n);
  }
  if (input.usage !== undefined) replaceUsage(db, getSessionRow(db, session.n), input.usage);
  const title =
    session.title === null && input.title !== undefined ? findFreeTitle(db, session, input.title) : undefined;
  if (title !== undefined) db.send(setTitleSql, title, session.n);
  pointImportedConversations(db, session, input);
  return toSession(getSessionRow(db, session.n));
}

/** The person of its first conversation, or else of the account. */
function findImportOwner(db: Db, input: ImportedSession & { profile: string }): PersonId | undefined {
  const { account, now, profile } = input;
  const first = input.conversations?.[0];
  if (first !== undefined) {
    const opening = { ...first, profile, now };
    const match = lookUpConversation(db, opening);
    return getSessionOwner(first.source, findImportPerson(db, opening, match));
  }
  if (account === undefined) return undefined;
  const { userId: id, userIdAlt: altId } = account;
  const source: Source = { ...account, chatType: "dm", chatId: id ?? altId ?? "" };
  const participant = { ...(id !== undefined && { id }), ...(altId !== undefined && { altId }) };
  return resolvePerson(db, source, resolveAccount(db, source, participant, undefined, now), undefined, now);
}

/** The person of the conversation, or the one that a new conversation would have. */
function findImportPerson(
  db: Db,
  opening: ConversationLookup,
  match: ConversationMatch,
): PersonId | undefined {
  return match.found === undefined
    ? resolveConversationPerson(db, opening, match)
    : (match.found.person ?? undefined);
}

/** A session that continues in a chat belongs to the audience of that chat. */
function findImportAudience({ session, conversations }: ImportedSession): string | undefined {
  const first = session.owner === undefined ? conversations?.[0] : undefined;
  return first && getChatAudience(first.source);
}

/** Points conversations to the session, each with the time of its last human message. */
function pointImportedConversations(
  db: Db,
  session: SessionRow,
  input: {
    readonly conversations?: readonly ImportedConversation[];
    readonly profile: string;
    readonly now: number;
  },
): void {
  const { profile, now } = input;
  for (const { source, scope, activeAt } of input.conversations ?? []) {
    const opening = { source, scope, profile, now };
    const match = lookUpConversation(db, opening);
    const { found, account } = match;
    if (found?.session === session.n) {
      if (activeAt > found.active_at) db.send(touchConversationSql, activeAt, found.n);
      continue;
    }
    if (found !== undefined && found.active_at >= activeAt) continue;
    const person = findImportPerson(db, opening, match);
    if (!isVisible(getReaders(source, person), session)) continue;
    if (found === undefined) {
      const n = insertConversationRow(db, opening, account, person, session.n, activeAt);
      recordDecision(db, n, now, "created", { reason: "import", to: session.id });
      db.send(reopenSessionSql, session.n);
    } else {
      const from = getSessionRow(db, found.session);
      pointConversation(db, found, session, "switch", activeAt);
      recordDecision(db, found.n, now, "switched", { reason: "import", from: from.id, to: session.id });
    }
  }
}
