import { chatOf, type PersonId } from "../../core/owner.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { Session } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import type { ImportedConversation, ImportedMore, ImportedSession } from "../../core/transfer.ts";
import { ensurePerson, personOf, resolveAccount } from "./accounts.ts";
import { insertMessages } from "./append.ts";
import type { Db } from "./connection.ts";
import {
  beginConversation,
  createSession,
  decide,
  originColumns,
  ownerOf,
  placeOf,
  point,
  sessionRow,
} from "./routing.ts";
import { type SessionRow, toSession } from "./rows.ts";
import { freeTitle } from "./sessions.ts";
import { showRanges } from "./shapes.ts";
import * as sql from "./sql.ts";
import { readersIn } from "./switching.ts";
import { replaceUsage } from "./usage.ts";
import { visible } from "./visible.ts";

export function importSession(db: Db, input: ImportedSession & { profile: string }): Session | Refused {
  const { session, now, createdAt } = input;
  if (db.get(sql.sessionById, session.id) !== undefined) {
    return refuse("invalid_input", `There is a session ${session.id} already.`, { field: "id" });
  }
  const owner = session.owner ?? ownerFound(db, input);
  if (owner === undefined)
    return refuse("invalid_input", "Nothing tells whose the session is.", { field: "owner" });
  if (!owner.startsWith("chat:")) ensurePerson(db, owner, now);
  const { title: wanted, ...rest } = session;
  const title = wanted === undefined ? undefined : freeTitle(db, { owner }, wanted);
  const made = createSession(
    db,
    { ...rest, ...(title !== undefined && { title }) },
    { profile: input.profile, owner, now: createdAt },
    input.parent,
  );
  const grown = insertMessages(db, made, input.messages, input.blobs, now);
  db.run(sql.growSession, grown.seqs.length, grown.lastAt, grown.humans, grown.toolCalls, made.n);
  const [origin, name] = input.origin === undefined ? [null, null] : originColumns(input.origin);
  db.run(
    `update sessions set audience = ?, platform = ?, origin = ?, display_name = ?, ended_at = ?, end_reason = ?,
       archived_at = ? where n = ?`,
    input.audience ?? audienceFound(input) ?? null,
    input.origin?.platform ?? input.platform ?? null,
    origin,
    input.displayName ?? name,
    input.endedAt ?? null,
    input.endReason ?? null,
    input.archivedAt ?? null,
    made.n,
  );
  replaceUsage(db, sessionRow(db, made.n), input.usage, input.usageEntries);
  showRanges(db, sessionRow(db, made.n), input.shows, input.hidden, now);
  goOnIn(db, sessionRow(db, made.n), input);
  return toSession(sessionRow(db, made.n));
}

export function importMore(db: Db, input: ImportedMore & { profile: string }): Session | Refused {
  const session = db.get<SessionRow>(sql.sessionById, input.session);
  if (session === undefined || session.removed_at !== null)
    return refuse("not_found", "There is no such session.");
  if (session.next_seq - 1 !== input.after) {
    return refuse("invalid_input", "The session has grown here; what comes in does not follow it.", {
      field: "after",
    });
  }
  if (input.messages.length > 0) {
    const grown = insertMessages(db, session, input.messages, input.blobs, input.now);
    db.run(sql.growSession, grown.seqs.length, grown.lastAt, grown.humans, grown.toolCalls, session.n);
  }
  if (input.usage !== undefined) replaceUsage(db, sessionRow(db, session.n), input.usage);
  const title =
    session.title === null && input.title !== undefined ? freeTitle(db, session, input.title) : undefined;
  if (title !== undefined) db.run("update sessions set title = ? where n = ?", title, session.n);
  goOnIn(db, session, input);
  return toSession(sessionRow(db, session.n));
}

/** Whoever speaks in its first conversation, else the person of the account. */
function ownerFound(db: Db, input: ImportedSession & { profile: string }): PersonId | undefined {
  const { account, now, profile } = input;
  const first = input.conversations?.[0];
  if (first !== undefined) {
    const { found, person } = placeOf(db, { ...first, profile, now });
    return ownerOf(first.source, found === undefined ? person() : (found.person ?? undefined));
  }
  if (account === undefined) return undefined;
  const { userId: id, userIdAlt: altId } = account;
  const source: Source = { ...account, chatType: "dm", chatId: id ?? altId ?? "" };
  const participant = { ...(id !== undefined && { id }), ...(altId !== undefined && { altId }) };
  return personOf(db, source, resolveAccount(db, source, participant, undefined, now), undefined, now);
}

/** What goes on in a chat was said there. */
function audienceFound({ session, conversations }: ImportedSession): string | undefined {
  const first = session.owner === undefined ? conversations?.[0] : undefined;
  return first && chatOf(first.source);
}

/** Points conversations at the session, each under the instant at which people last spoke there. */
function goOnIn(
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
    const speaking = { source, scope, profile, now };
    const { found, account, person: newPerson } = placeOf(db, speaking);
    if (found?.session === session.n) {
      if (activeAt > found.active_at) db.run(sql.touchConversation, activeAt, found.n);
      continue;
    }
    if (found !== undefined && found.active_at >= activeAt) continue;
    const person = found === undefined ? newPerson() : (found.person ?? undefined);
    if (!visible(readersIn(source, person), session)) continue;
    if (found === undefined) {
      const n = beginConversation(db, speaking, account, person, session.n, activeAt);
      decide(db, n, now, "created", { reason: "import", to: session.id });
      db.run(sql.reopen, session.n);
    } else {
      const from = sessionRow(db, found.session);
      point(db, found, session, "switch", activeAt);
      decide(db, found.n, now, "switched", { reason: "import", from: from.id, to: session.id });
    }
  }
}
