import type { Participant } from "../../core/identity.ts";
import { OWNER, type PersonId } from "../../core/owner.ts";
import { EDITOR_PLATFORM } from "../../core/platforms.ts";
import type { Source } from "../../core/source.ts";
import type { Db } from "./db.ts";
import { mergePerson } from "./merge-person.ts";
import { randomHex } from "./random-hex.ts";
import type { ConversationRow } from "./rows.ts";
import { insertDecisionSql } from "./statements/conversations.ts";
import { endUnreferencedSessionSql, sessionByNumberSql } from "./statements/sessions.ts";

export interface AccountRow {
  n: number;
  platform: string;
  user_id: string | null;
  alt_id: string | null;
  person: string;
}

const accountByUserIdSql = "select * from accounts where platform = ? and user_id = ?";
const accountByAltIdSql = "select * from accounts where platform = ? and alt_id = ?";
export const accountByNumberSql = "select * from accounts where n = ?";

/** Platforms on which every sender is the owner of this home. */
const OWNER_PLATFORMS: ReadonlySet<string> = new Set(["local", EDITOR_PLATFORM, "web"]);

export function isOwnerPlatform(platform: string): boolean {
  return OWNER_PLATFORMS.has(platform);
}

/**
 * The one account for (platform, id, alternative id), created on first contact. A platform that sends the alternative id
 * only sometimes still gets one account: either id finds it, and the other is added when both come together.
 */
export function resolveAccount(
  db: Db,
  source: Source,
  participant: Participant,
  knownPerson: PersonId | undefined,
  now: number,
): AccountRow {
  const { platform } = source;
  const { id = null, altId = null } = participant;
  const foundAlt = altId === null ? undefined : db.get<AccountRow>(accountByAltIdSql, platform, altId);
  let found = id === null ? undefined : db.get<AccountRow>(accountByUserIdSql, platform, id);
  if (found !== undefined && found.alt_id !== null && altId !== null && found.alt_id !== altId) {
    // A phone number passes from one person to another; the alternative id does not, so it decides.
    db.send("update accounts set user_id = null where n = ?", found.n);
    found = undefined;
  }
  if (found !== undefined && foundAlt !== undefined && found.n !== foundAlt.n)
    return mergeAccounts(db, found, foundAlt, now);
  const account = found ?? foundAlt;
  if (account === undefined) return createAccount(db, source, id, altId, knownPerson, now);
  const [user_id, alt_id] = [id ?? account.user_id, altId ?? account.alt_id];
  if (user_id !== account.user_id || alt_id !== account.alt_id) {
    db.send("update accounts set user_id = ?, alt_id = ? where n = ?", user_id, alt_id, account.n);
  }
  return { ...account, user_id, alt_id };
}

/** The person of a direct chat without a sender: the chat itself is the account. */
export function resolvePerson(
  db: Db,
  source: Source,
  account: AccountRow | undefined,
  knownPerson: PersonId | undefined,
  now: number,
): PersonId {
  if (knownPerson !== undefined) return ensurePerson(db, knownPerson, now);
  if (OWNER_PLATFORMS.has(source.platform)) return ensurePerson(db, OWNER, now);
  return (account ?? resolveAccount(db, source, { id: source.chatId }, undefined, now)).person;
}

/** An id for a new person. */
export function createPersonId(): PersonId {
  return `p_${randomHex(6)}`;
}

export function ensurePerson(db: Db, id: PersonId, now: number): PersonId {
  db.send("insert or ignore into people (id, created_at) values (?, ?)", id, now);
  return id;
}

function createAccount(
  db: Db,
  source: Source,
  id: string | null,
  altId: string | null,
  knownPerson: PersonId | undefined,
  now: number,
): AccountRow {
  const owner = OWNER_PLATFORMS.has(source.platform) ? OWNER : createPersonId();
  const person = ensurePerson(db, knownPerson ?? owner, now);
  const number = db.insert(
    "insert into accounts (platform, user_id, alt_id, person, name, created_at) values (?, ?, ?, ?, ?, ?)",
    source.platform,
    id,
    altId,
    person,
    source.userName ?? null,
    now,
  );
  return { n: number, platform: source.platform, user_id: id, alt_id: altId, person };
}

/**
 * Two accounts turn out to be one. The older remains and gets the other's conversations and sessions. If both have a
 * conversation in one chat, the one with later activity remains, and the other's session can be resumed.
 */
function mergeAccounts(db: Db, byId: AccountRow, byAltId: AccountRow, now: number): AccountRow {
  db.widenScope();
  const [kept, gone] = byId.n < byAltId.n ? [byId, byAltId] : [byAltId, byId];
  const person = gone.person === OWNER ? OWNER : kept.person;
  for (const other of db.all<ConversationRow>("select * from conversations where account = ?", gone.n)) {
    const own = db.get<ConversationRow>(
      "select * from conversations where profile = ? and platform = ? and chat_type = ? and chat_id = ? and thread_id = ? and account = ?",
      other.profile,
      other.platform,
      other.chat_type,
      other.chat_id,
      other.thread_id,
      kept.n,
    );
    if (own === undefined) {
      db.send("update conversations set account = ? where n = ?", kept.n, other.n);
      continue;
    }
    const [winner, loser] = own.active_at >= other.active_at ? [own, other] : [other, own];
    db.send("update inbox set conversation = ? where conversation = ? and state = 0", winner.n, loser.n);
    db.send(
      "update turns set conversation = ? where conversation = ? and state = 'running'",
      winner.n,
      loser.n,
    );
    db.send("delete from conversations where n = ?", loser.n);
    db.send("update conversations set account = ? where n = ?", kept.n, winner.n);
    db.send(endUnreferencedSessionSql, now, "merged", loser.session);
    db.send(
      insertDecisionSql,
      winner.n,
      now,
      "merged",
      "one account",
      null,
      null,
      null,
      getSessionId(db, loser.session),
      getSessionId(db, winner.session),
    );
  }
  db.send("delete from accounts where n = ?", gone.n);
  const [user_id, alt_id] = [byId.user_id, byAltId.alt_id];
  db.send(
    "update accounts set user_id = ?, alt_id = ?, person = ? where n = ?",
    user_id,
    alt_id,
    person,
    kept.n,
  );
  const mergedPerson = person === kept.person ? gone.person : kept.person;
  if (mergedPerson !== person) mergePerson(db, mergedPerson, person, now);
  return { ...kept, user_id, alt_id, person };
}

function getSessionId(db: Db, session: number): string | null {
  return db.get<{ id: string }>(sessionByNumberSql, session)?.id ?? null;
}
