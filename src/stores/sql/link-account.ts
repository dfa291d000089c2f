import type { AccountName, AccountRole } from "../../core/access.ts";
import { PostriderError } from "../../core/errors.ts";
import { OWNER, type PersonId } from "../../core/owner.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import { getAccount as knownAccount } from "./access.ts";
import { type AccountRow, createPersonId, ensurePerson, resolveAccount } from "./accounts.ts";
import type { Db } from "./db.ts";
import { mergePerson } from "./merge-person.ts";
import { buildSenderFilter } from "./person-rows.ts";
import {
  getSessionOwner,
  getSessionRow,
  insertSessionRow,
  pointConversation,
  recordDecision,
} from "./routing.ts";
import type { ConversationRow } from "./rows.ts";
import { accountsByPersonSql, setAccountPersonSql } from "./statements/accounts.ts";
import {
  conversationsByPersonSql,
  runningConversationsSql,
  setConversationPersonSql,
} from "./statements/merging.ts";
import { personByIdSql } from "./statements/people.ts";
import { toChatSource } from "./switching.ts";

/**
 * Moves an account to another person. If it was the only account of the former person, everything moves along. Otherwise
 * its chats continue in new sessions: the new person must not read the old ones.
 */
export function linkAccount(
  db: Db,
  input: { account: AccountName; person?: PersonId; now: number },
): AccountRole | Refused {
  const { now } = input;
  if (input.person === undefined && knownAccount(db, input.account) === undefined)
    return refuse("not_found", "There is no such account.", { field: "account" });
  const person = input.person ?? ensurePerson(db, createPersonId(), now);
  if (person === OWNER) ensurePerson(db, OWNER, now);
  else if (db.get(personByIdSql, person) === undefined)
    return refuse("not_found", "There is no such person.", { field: "person" });
  const row = resolveNamedAccount(db, input.account, person, now);
  if (row.person !== person) {
    const refused = moveAccount(db, row, person, input.person !== undefined, now);
    if (refused !== undefined) return refused;
  }
  return knownAccount(db, input.account) ?? { person };
}

function resolveNamedAccount(db: Db, name: AccountName, person: PersonId, now: number): AccountRow {
  const { platform, userId, altId } = name;
  const chatId = userId ?? altId;
  if (chatId === undefined) {
    throw new PostriderError("invalid_input", "An account needs an id on its platform.", {
      details: { field: "account" },
    });
  }
  const source = {
    platform,
    chatType: "dm",
    chatId,
    ...(name.name !== undefined && { userName: name.name }),
  };
  const ids = { ...(userId !== undefined && { id: userId }), ...(altId !== undefined && { altId }) };
  return resolveAccount(db, source, ids, person, now);
}

function moveAccount(
  db: Db,
  account: AccountRow,
  person: PersonId,
  mayMoveAlong: boolean,
  now: number,
): Refused | undefined {
  const former = account.person;
  const others = db.all<AccountRow>(accountsByPersonSql, former).filter(({ n }) => n !== account.n);
  const movesAlong = mayMoveAlong && former !== OWNER && others.length === 0;
  const conversations = db.all<ConversationRow>(conversationsByPersonSql, former);
  const affected = movesAlong
    ? conversations
    : conversations.filter((row) => isAccountChat(db, account, others, row));
  const numbers = new Set(affected.map(({ n }) => n));
  const running = db.all<{ conversation: number }>(runningConversationsSql);
  if (running.some(({ conversation }) => numbers.has(conversation)))
    return refuse(
      "session_busy",
      "An answer to this account is being written. Stop it or wait for it first.",
    );
  db.send(setAccountPersonSql, person, account.n);
  if (movesAlong) mergePerson(db, former, person, now);
  else for (const conversation of affected) startNewSession(db, conversation, person, now);
  return undefined;
}

/** Whether a chat of a person belongs to this account. The only account on its platform has all chats there. */
function isAccountChat(
  db: Db,
  account: AccountRow,
  others: readonly AccountRow[],
  row: ConversationRow,
): boolean {
  if (row.platform !== account.platform) return false;
  if (row.account > 0) return row.account === account.n;
  if (others.every(({ platform }) => platform !== account.platform)) return true;
  if (row.chat_id === account.user_id || row.chat_id === account.alt_id) return true;
  const isSentByAccount = buildSenderFilter([account]);
  return isSentByAccount(getSessionRow(db, row.session).origin);
}

function startNewSession(db: Db, conversation: ConversationRow, person: PersonId, now: number): void {
  const { n, profile, active_at } = conversation;
  const former = getSessionRow(db, conversation.session);
  const source = toChatSource(conversation);
  db.send(setConversationPersonSql, person, n);
  const session = insertSessionRow(
    db,
    { id: crypto.randomUUID(), kind: former.kind },
    { profile, owner: getSessionOwner(source, person), now, source },
  );
  pointConversation(db, conversation, session, "switch", active_at);
  recordDecision(db, n, now, "new", {
    reason: "its account was linked to another person",
    from: former.id,
    to: session.id,
  });
}
