import type { Participant } from "../../core/identity.ts";
import { OWNER, type PersonId } from "../../core/owner.ts";
import { EDITOR_PLATFORM } from "../../core/platforms.ts";
import type { Source } from "../../core/source.ts";
import type { Db } from "./connection.ts";
import { mergePerson } from "./merge-person.ts";
import { randomHex } from "./random-hex.ts";
import type { ConversationRow } from "./rows.ts";
import * as sql from "./sql.ts";

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

/** Platforms on which whoever speaks is the owner of this home. */
const OWNER_PLATFORMS: ReadonlySet<string> = new Set(["local", EDITOR_PLATFORM, "web"]);

export function isOwnerPlatform(platform: string): boolean {
  return OWNER_PLATFORMS.has(platform);
}

/**
 * The one account behind (platform, id, alternative id), made at its first contact. A platform that gives the
 * alternative id only sometimes still gets one account: whichever half is known finds it, and the other half
 * is learnt when both come together.
 */
export function resolveAccount(
  db: Db,
  source: Source,
  participant: Participant,
  named: PersonId | undefined,
  now: number,
): AccountRow {
  const { platform } = source;
  const { id = null, altId = null } = participant;
  const foundAlt = altId === null ? undefined : db.get<AccountRow>(accountByAltIdSql, platform, altId);
  let found = id === null ? undefined : db.get<AccountRow>(accountByUserIdSql, platform, id);
  if (found !== undefined && found.alt_id !== null && altId !== null && found.alt_id !== altId) {
    // A phone number passes from one person to another; the alternative id does not, so it decides.
    db.run("update accounts set user_id = null where n = ?", found.n);
    found = undefined;
  }
  if (found !== undefined && foundAlt !== undefined && found.n !== foundAlt.n)
    return mergeAccounts(db, found, foundAlt, now);
  const account = found ?? foundAlt;
  if (account === undefined) return createAccount(db, source, id, altId, named, now);
  const [user_id, alt_id] = [id ?? account.user_id, altId ?? account.alt_id];
  if (user_id !== account.user_id || alt_id !== account.alt_id) {
    db.run("update accounts set user_id = ?, alt_id = ? where n = ?", user_id, alt_id, account.n);
  }
  return { ...account, user_id, alt_id };
}

/** The person behind a direct chat without a named sender: the chat itself is the account. */
export function resolvePerson(
  db: Db,
  source: Source,
  account: AccountRow | undefined,
  named: PersonId | undefined,
  now: number,
): PersonId {
  if (named !== undefined) return ensurePerson(db, named, now);
  if (OWNER_PLATFORMS.has(source.platform)) return ensurePerson(db, OWNER, now);
  return (account ?? resolveAccount(db, source, { id: source.chatId }, undefined, now)).person;
}

/** An id for somebody who was not here before. */
export function createPersonId(): PersonId {
  return `p_${randomHex(6)}`;
}

export function ensurePerson(db: Db, id: PersonId, now: number): PersonId {
  db.run("insert or ignore into people (id, created_at) values (?, ?)", id, now);
  return id;
}

function createAccount(
  db: Db,
  source: Source,
  id: string | null,
  altId: string | null,
  named: PersonId | undefined,
  now: number,
): AccountRow {
  const owns = OWNER_PLATFORMS.has(source.platform) ? OWNER : createPersonId();
  const person = ensurePerson(db, named ?? owns, now);
  const { lastInsertRowid } = db.run(
    "insert into accounts (platform, user_id, alt_id, person, name, created_at) values (?, ?, ?, ?, ?, ?)",
    source.platform,
    id,
    altId,
    person,
    source.userName ?? null,
    now,
  );
  return { n: lastInsertRowid, platform: source.platform, user_id: id, alt_id: altId, person };
}

/**
 * Two accounts turn out to be one. The older stays and takes over the other's conversations and sessions. Where
 * both talked in one place, the later active conversation stays and the other's session remains resumable.
 */
function mergeAccounts(db: Db, byId: AccountRow, byAltId: AccountRow, now: number): AccountRow {
  const [kept, gone] = byId.n < byAltId.n ? [byId, byAltId] : [byAltId, byId];
  const person = gone.person === OWNER ? OWNER : kept.person;
  for (const theirs of db.all<ConversationRow>("select * from conversations where account = ?", gone.n)) {
    const mine = db.get<ConversationRow>(
      "select * from conversations where profile = ? and platform = ? and chat_type = ? and chat_id = ? and thread_id = ? and account = ?",
      theirs.profile,
      theirs.platform,
      theirs.chat_type,
      theirs.chat_id,
      theirs.thread_id,
      kept.n,
    );
    if (mine === undefined) {
      db.run("update conversations set account = ? where n = ?", kept.n, theirs.n);
      continue;
    }
    const [stays, leaves] = mine.active_at >= theirs.active_at ? [mine, theirs] : [theirs, mine];
    db.run("update inbox set conversation = ? where conversation = ? and state = 0", stays.n, leaves.n);
    db.run(
      "update turns set conversation = ? where conversation = ? and state = 'running'",
      stays.n,
      leaves.n,
    );
    db.run("delete from conversations where n = ?", leaves.n);
    db.run("update conversations set account = ? where n = ?", kept.n, stays.n);
    db.run(sql.endUnreferencedSessionSql, now, "merged", leaves.session);
    db.run(
      sql.insertDecisionSql,
      stays.n,
      now,
      "merged",
      "one account",
      null,
      null,
      null,
      getSessionId(db, leaves.session),
      getSessionId(db, stays.session),
    );
  }
  db.run("delete from accounts where n = ?", gone.n);
  const [user_id, alt_id] = [byId.user_id, byAltId.alt_id];
  db.run(
    "update accounts set user_id = ?, alt_id = ?, person = ? where n = ?",
    user_id,
    alt_id,
    person,
    kept.n,
  );
  const leaving = person === kept.person ? gone.person : kept.person;
  if (leaving !== person) mergePerson(db, leaving, person, now);
  return { ...kept, user_id, alt_id, person };
}

function getSessionId(db: Db, session: number): string | null {
  return db.get<{ id: string }>(sql.sessionByNumberSql, session)?.id ?? null;
}
