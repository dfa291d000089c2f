import type { PersonId } from "../../core/owner.ts";
import { isSentBy, type PersonName } from "../../core/person.ts";
import type { Source } from "../../core/source.ts";
import type { Db } from "./db.ts";
import { parseObject } from "./json-columns.ts";
import type { ProcessRow } from "./process-rows.ts";
import { type ConversationRow, SEQS_PER_SESSION } from "./rows.ts";
import { isRunnerAlive } from "./runners.ts";
import { accountsByPersonSql } from "./statements/accounts.ts";
import { claimedInputsSql } from "./statements/inbox.ts";
import { personByAccountIdSql, personByIdSql } from "./statements/people.ts";
import {
  attributedElsewhereSql,
  openProcessOwnersSql,
  pendingInboxSql,
  personConversationsSql,
  personInboxSql,
  runningTurnOwnersSql,
  selectTargeted,
  unansweredInboxSql,
} from "./statements/person-rows.ts";
import { unattributedElsewhereSql } from "./statements/senders.ts";

/** The rows of a person: one definition for export and for erasure. */
export interface PersonRow {
  id: PersonId;
  name: string | null;
  created_at: number;
}

export interface PersonAccountRow {
  n: number;
  platform: string;
  user_id: string | null;
  alt_id: string | null;
  name: string | null;
  created_at: number;
}

export interface PersonInboxRow {
  n: number;
  platform: string;
  chat_id: string;
  message_id: string;
  at: number;
  state: number;
  message: string | null;
  source: string | null;
}

export interface PersonTurnRow {
  n: number;
  session: number;
  runner: string;
  state: string;
  target: string;
  started_at: number;
  ended_at: number | null;
}

export function findPersonRow(db: Db, name: PersonName): PersonRow | undefined {
  if ("person" in name) return db.get<PersonRow>(personByIdSql, name.person);
  return db.get<PersonRow>(personByAccountIdSql, name.platform, name.account, name.account);
}

export function listPersonAccounts(db: Db, person: PersonId): PersonAccountRow[] {
  return db.all<PersonAccountRow>(accountsByPersonSql, person);
}

/** Builds a check whether a stored source belongs to one of the accounts. */
export function buildSenderFilter(
  accounts: readonly Pick<PersonAccountRow, "platform" | "user_id" | "alt_id">[],
): (json: string | null) => boolean {
  const known = accounts.map(({ platform, user_id, alt_id }) => ({
    platform,
    ...(user_id !== null && { id: user_id }),
    ...(alt_id !== null && { altId: alt_id }),
  }));
  return (json) => {
    const source = parseObject<Source>(json);
    return source !== undefined && isSentBy(known, source);
  };
}

/** The conversations of the person, and those in which one of their accounts is the participant. */
export function listPersonConversations(db: Db, person: PersonId): ConversationRow[] {
  return db.all<ConversationRow>(personConversationsSql, person, person);
}

/**
 * The inbox rows of the person: all in their own conversations and direct chats, and pending messages and commands
 * elsewhere. A finished row elsewhere has neither text nor sender.
 */
export function listPersonInbox(db: Db, person: PersonId): PersonInboxRow[] {
  const isSentByPerson = buildSenderFilter(listPersonAccounts(db, person));
  const own = db.all<PersonInboxRow>(personInboxSql, person, person, person);
  const numbers = new Set(own.map(({ n }) => n));
  const pending = db.all<PersonInboxRow>(pendingInboxSql);
  const commands = db.all<PersonInboxRow>(unansweredInboxSql);
  const elsewhere = [...pending, ...commands].filter(
    ({ n, source }) => !numbers.has(n) && isSentByPerson(source),
  );
  return [...own, ...elsewhere].toSorted((a, b) => a.n - b.n);
}

/** The turns that answered the person, in any session. */
export function listPersonTurns(db: Db, person: PersonId): PersonTurnRow[] {
  return listTargetedRows<PersonTurnRow>(db, "turns", person);
}

/** The rows whose session or target belongs to the person. */
function listTargetedRows<Row extends { n: number; target: string }>(
  db: Db,
  table: "turns" | "deliveries" | "processes",
  person: PersonId,
): Row[] {
  const accounts = listPersonAccounts(db, person);
  const isSentByPerson = buildSenderFilter(accounts);
  const ids = accounts.flatMap(({ user_id, alt_id }) => [user_id, alt_id]).filter((id) => id !== null);
  // Searching for the text of an id is much faster than parsing every target.
  return db
    .all<Row & { owned: number }>(
      selectTargeted(db.dialect, table, ids.length),
      person,
      ...ids.map((id) => JSON.stringify(id).slice(1, -1)),
    )
    .filter(({ owned, target }) => owned === 1 || isSentByPerson(target));
}

/** Whether a turn of the person runs, in a runner that is alive. */
export function hasRunningTurn(db: Db, person: PersonId, now: number): boolean {
  const isSentByPerson = buildSenderFilter(listPersonAccounts(db, person));
  return db
    .all<{ runner: string; target: string; owner: string }>(runningTurnOwnersSql)
    .some(
      ({ owner, target, runner }) =>
        (owner === person || isSentByPerson(target)) && isRunnerAlive(db, runner, now),
    );
}

export interface PersonDeliveryRow {
  n: number;
  session: number | null;
  target: string;
  parts: string;
  state: string;
  created_at: number;
}

export function listPersonDeliveries(db: Db, person: PersonId): PersonDeliveryRow[] {
  return listTargetedRows<PersonDeliveryRow>(db, "deliveries", person);
}

export type PersonProcessRow = Omit<ProcessRow, "session_id">;

/** The processes that ran for the person, in any session. */
export function listPersonProcesses(db: Db, person: PersonId): PersonProcessRow[] {
  return listTargetedRows<PersonProcessRow>(db, "processes", person);
}

/** A running process of the person, if there is one. */
export function findRunningProcess(db: Db, person: PersonId): string | undefined {
  const isSentByPerson = buildSenderFilter(listPersonAccounts(db, person));
  return db
    .all<{ id: string; target: string; owner: string }>(openProcessOwnersSql)
    .find(({ owner, target }) => owner === person || isSentByPerson(target))?.id;
}

/** The ids of the person's messages in sessions of others. */
export function listMessagesElsewhere(db: Db, person: PersonId): number[] {
  const attributed = listAttributedElsewhere(db, person, { after: 0, last: Number.MAX_SAFE_INTEGER });
  return [...new Set([...attributed, ...listUnattributedElsewhere(db, person).map(({ id }) => id)])].toSorted(
    (a, b) => a - b,
  );
}

/** Messages that store the person as sender, in a range of ids. */
export function listAttributedElsewhere(
  db: Db,
  person: PersonId,
  { after, last }: { readonly after: number; readonly last: number },
): number[] {
  const found = listPersonAccounts(db, person).flatMap(({ platform, user_id, alt_id }) =>
    db.rows(attributedElsewhereSql, after, last, user_id, alt_id, platform, person),
  );
  return found.map(([id]) => id as number).toSorted((a, b) => a - b);
}

const INPUTS_PER_PAGE = 1000;

/** Messages without a sender that were the last input of a turn for the person. */
export function listUnattributedElsewhere(db: Db, person: PersonId): { id: number; target: string }[] {
  const turns = listPersonTurns(db, person).map(
    ({ n, session, target }) => [n, { session, target }] as const,
  );
  if (turns.length === 0) return [];
  const byNumber = new Map(turns);
  const last = new Map<number, number>();
  for (let after = 0, page: unknown[][] = []; after === 0 || page.length === INPUTS_PER_PAGE; ) {
    page = db.rows(claimedInputsSql, after, INPUTS_PER_PAGE);
    for (const [n, turn, seq] of page as [number, number, number][]) {
      after = n;
      if (byNumber.has(turn)) last.set(turn, Math.max(last.get(turn) ?? 0, seq));
    }
    if (page.length === 0) break;
  }
  return [...last].flatMap(([turn, seq]) => {
    const { session = 0, target = "" } = byNumber.get(turn) ?? {};
    const id = session * SEQS_PER_SESSION + seq;
    return db.get(unattributedElsewhereSql, id, person) === undefined ? [] : [{ id, target }];
  });
}
