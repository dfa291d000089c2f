import { ROLES } from "../../core/message.ts";
import type { PersonId } from "../../core/owner.ts";
import { isFrom, type PersonName } from "../../core/person.ts";
import type { Source } from "../../core/source.ts";
import type { Db } from "./connection.ts";
import { type ConversationRow, SEQ_BITS } from "./rows.ts";

/** Which rows are a person's: one place for showing them and for erasing them. */
export interface PersonRow {
  id: PersonId;
  name: string | null;
  created_at: number;
}

export interface AccountRow {
  n: number;
  platform: string;
  user_id: string | null;
  alt_id: string | null;
  name: string | null;
  created_at: number;
}

export interface InboxRow {
  n: number;
  platform: string;
  chat_id: string;
  message_id: string;
  at: number;
  state: number;
  message: string | null;
  source: string | null;
}

export interface TurnRow {
  n: number;
  session: number;
  runner: string;
  state: string;
  target: string;
  started_at: number;
  ended_at: number | null;
}

export function personRow(db: Db, name: PersonName): PersonRow | undefined {
  if ("person" in name) return db.get<PersonRow>("select * from people where id = ?", name.person);
  return db.get<PersonRow>(
    `select p.* from accounts a join people p on p.id = a.person
     where a.platform = ? and (a.user_id = ? or a.alt_id = ?)`,
    name.platform,
    name.account,
    name.account,
  );
}

export function accountsOf(db: Db, person: PersonId): AccountRow[] {
  return db.all<AccountRow>("select * from accounts where person = ? order by n", person);
}

/** Tells whether a source, as it is stored, is one of theirs. */
export function speaks(accounts: readonly AccountRow[]): (json: string | null) => boolean {
  const known = accounts.map(({ platform, user_id, alt_id }) => ({
    platform,
    ...(user_id !== null && { id: user_id }),
    ...(alt_id !== null && { altId: alt_id }),
  }));
  return (json) => json !== null && isFrom(known, JSON.parse(json) as Source);
}

/** Their conversations: their own ones, and those in which one of their accounts is the participant. */
export function conversationsOfPerson(db: Db, person: PersonId): ConversationRow[] {
  return db.all<ConversationRow>(
    `select * from conversations where person = ? or account in (select n from accounts where person = ?) order by n`,
    person,
    person,
  );
}

/**
 * What was accepted from them: all of their own conversations and direct chats, and what waits in others. Elsewhere
 * a row that waits no more has neither words nor sender.
 */
export function inboxOfPerson(db: Db, person: PersonId): InboxRow[] {
  const isTheirs = speaks(accountsOf(db, person));
  const own = db.all<InboxRow>(
    `select i.* from inbox i where i.conversation in (
         select n from conversations where person = ? or account in (select n from accounts where person = ?))
       or exists (select 1 from accounts a where a.person = ? and a.platform = i.platform
         and i.chat_id in (a.user_id, a.alt_id))`,
    person,
    person,
    person,
  );
  const numbers = new Set(own.map(({ n }) => n));
  const waiting = db
    .all<InboxRow>("select * from inbox where state = 0")
    .filter(({ n, source }) => !numbers.has(n) && isTheirs(source));
  return [...own, ...waiting].toSorted((a, b) => a.n - b.n);
}

/** Turns that answered them, in whichever session. */
export function turnsOfPerson(db: Db, person: PersonId): TurnRow[] {
  const isTheirs = speaks(accountsOf(db, person));
  return db
    .all<TurnRow & { owner: string | null }>(
      "select t.*, s.owner from turns t left join sessions s on s.n = t.session order by t.n",
    )
    .filter(({ owner, target }) => owner === person || isTheirs(target));
}

export interface DeliveryRow {
  n: number;
  session: number;
  target: string;
  parts: string;
  state: string;
  created_at: number;
}

export function deliveriesOfPerson(db: Db, person: PersonId): DeliveryRow[] {
  const isTheirs = speaks(accountsOf(db, person));
  return db
    .all<DeliveryRow & { owner: string | null }>(
      "select d.*, s.owner from deliveries d left join sessions s on s.n = d.session order by d.n",
    )
    .filter(({ owner, target }) => owner === person || isTheirs(target));
}

const USER = ROLES.indexOf("user");

/**
 * The numbers of messages that they said in sessions which are not theirs: those that say so themselves, and those
 * without a sender that a turn for them took up last.
 */
export function saidElsewhere(db: Db, person: PersonId): number[] {
  const accounts = accountsOf(db, person);
  if (accounts.length === 0) return [];
  const found = new Set<number>();
  const others = `id >> 24 in (select n from sessions where owner <> ?)`;
  for (const { platform, user_id, alt_id } of accounts) {
    const rows = db.rows(
      `select id from messages where role = ${USER} and meta is not null and ${others}
         and json_extract(meta, '$.origin.platform') = ? and json_extract(meta, '$.origin.userId') in (?, ?)`,
      person,
      platform,
      user_id,
      alt_id,
    );
    for (const [id] of rows) found.add(id as number);
  }
  const isTheirs = speaks(accounts);
  const taken = db.rows(
    `select t.session * ${SEQ_BITS} + max(i.seq), t.target from turns t join inbox i on i.turn = t.n
     where t.session in (select n from sessions where owner <> ?) group by t.n`,
    person,
  );
  for (const [id, target] of taken) {
    if (!isTheirs(target as string)) continue;
    const unsigned = db.get(
      `select 1 from messages where id = ? and role = ${USER} and (text is not null or parts is not null)
         and (meta is null or json_extract(meta, '$.origin.userId') is null)`,
      id,
    );
    if (unsigned !== undefined) found.add(id as number);
  }
  return [...found].toSorted((a, b) => a - b);
}
