import { keyMatches, parseKey } from "../../core/key.ts";
import { type Asker, isEveryone } from "../../core/owner.ts";
import type { Arrival, PlacedConversation, Surroundings, TurnRecord } from "../../core/surroundings.ts";
import type { ArrivalAsked, Ask } from "../../ports/store.ts";
import { type AccountRow, accountByNumber } from "./accounts.ts";
import type { Db } from "./connection.ts";
import { type DeliveryRow, toDelivery } from "./deliveries.ts";
import { INBOX_STATES } from "./inbox.ts";
import { convertReadable } from "./json-columns.ts";
import { type DecisionRow, toDecision } from "./reading.ts";
import { identityOfRow, keyOf, sessionRow } from "./routing.ts";
import { type ConversationRow, type SessionRow, toConversation } from "./rows.ts";
import * as sql from "./sql.ts";
import { knownConversation, speaksIn } from "./switching.ts";
import { ownedSession, visible } from "./visible.ts";

const NEWEST = 20;

export function surroundings(db: Db, input: Ask): Surroundings | undefined {
  const session = ownedSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  const { n } = session;
  const turns = `select * from turns where session = ? order by n desc limit ${NEWEST}`;
  const sent = `select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
    where d.session = ? order by d.n desc limit ${NEWEST}`;
  // Without an index, too: only people ask.
  const decided = `select * from decisions where from_session = ? or to_session = ? order by n desc limit ${NEWEST}`;
  return {
    conversations: db
      .all<ConversationRow>("select * from conversations where session = ? order by n", n)
      .filter((row) => speaksIn(input.asker, row))
      .map((row) => placed(db, row)),
    turns: db.all<TurnRow>(turns, n).map(toTurnRecord),
    deliveries: convertReadable(db.all<DeliveryRow>(sent, n), toDelivery),
    decisions: db
      .all<DecisionRow>(decided, session.id, session.id)
      .filter((row) => knownConversation(db, input.asker, row.conversation) !== undefined)
      .map((row) => ({ ...toDecision(row), conversation: row.conversation })),
    holds: db.all("select name, until from holds where session = ? order by until", n),
    processes: db.all(sql.processesKeeping, n),
  };
}

/** Several identities may print alike, and an account that had one id once had another: all of them. */
export function conversationsByKey(db: Db, input: { asker: Asker; key: string }): PlacedConversation[] {
  const parsed = parseKey(input.key);
  if (parsed === undefined) return [];
  return db
    .all<ConversationRow>(
      "select * from conversations where profile = ? and platform = ? and chat_type = ? and chat_id = ? order by n",
      parsed.profile,
      parsed.platform,
      parsed.chatType,
      parsed.parts[0],
    )
    .filter((row) => speaksIn(input.asker, row) && keyMatches(input.key, identityOfRow(db, row)))
    .map((row) => placed(db, row));
}

/** How it came in: by where it stands now, or by what the platform calls it. */
export function arrivals(db: Db, input: ArrivalAsked): Arrival[] {
  const rows =
    "seq" in input
      ? arrivalsAt(db, input.asker, input.session, input.seq)
      : db.all<InboxRow>(
          `select * from inbox where profile in (select name from profiles)
             and platform = ? and chat_id = ? and message_id = ? order by n`,
          input.platform,
          input.chatId,
          input.messageId,
        );
  return rows.flatMap((row) => toArrival(db, input.asker, row) ?? []);
}

/** Nobody but a person who asks why needs this way around, so there is no index for it. */
function arrivalsAt(db: Db, asker: Asker, id: string, seq: number): InboxRow[] {
  const session = ownedSession(db, asker, id);
  if (session === undefined) return [];
  return db.all<InboxRow>(
    "select * from inbox where seq = ? and turn in (select n from turns where session = ?) order by n",
    seq,
    session.n,
  );
}

interface InboxRow {
  platform: string;
  chat_id: string;
  message_id: string;
  conversation: number;
  at: number;
  state: number;
  turn: number | null;
  seq: number | null;
}

function toArrival(db: Db, asker: Asker, row: InboxRow): Arrival | undefined {
  const turn = row.turn === null ? undefined : db.get<TurnRow>("select * from turns where n = ?", row.turn);
  const session = turn && db.get<SessionRow>(sql.sessionByNumber, turn.session);
  const conversation = db.get<ConversationRow>(sql.conversationByNumber, row.conversation);
  const known =
    isEveryone(asker) ||
    (session !== undefined && visible(asker, session)) ||
    (conversation !== undefined && speaksIn(asker, conversation));
  if (!known) return undefined;
  return {
    platform: row.platform,
    chatId: row.chat_id,
    messageId: row.message_id,
    at: row.at,
    state: INBOX_STATES[row.state] ?? "done",
    conversation: row.conversation,
    ...sessionOf(db, row, session, conversation),
    ...(row.seq !== null && { seq: row.seq }),
    ...(turn !== undefined && { turn: toTurnRecord(turn) }),
  };
}

function sessionOf(
  db: Db,
  { state }: InboxRow,
  session: SessionRow | undefined,
  conversation: ConversationRow | undefined,
): { session?: string } {
  const waits = INBOX_STATES[state] === "waiting" && conversation !== undefined;
  const found = waits ? sessionRow(db, conversation.session) : session;
  return found === undefined || found.removed_at !== null ? {} : { session: found.id };
}

export function placed(db: Db, row: ConversationRow): PlacedConversation {
  const session = sessionRow(db, row.session);
  const account = accountOf(db, row);
  const name = account?.name ?? undefined;
  const { participant } = identityOfRow(db, row);
  return {
    ...toConversation(row, keyOf(db, row), session.id),
    identity: identityOfRow(db, row),
    handle: session.handle,
    createdAt: row.created_at,
    ...(account !== undefined && {
      account: {
        platform: account.platform,
        ...participant,
        ...(name !== undefined && { name }),
        person: account.person,
      },
    }),
    waiting: db.all(sql.waitingInConversation, row.n).length,
  };
}

function accountOf(db: Db, { account }: ConversationRow): (AccountRow & { name: string | null }) | undefined {
  return account <= 0 ? undefined : db.get(accountByNumber, account);
}

interface TurnRow {
  n: number;
  session: number;
  conversation: number;
  runner: string;
  attempt: number;
  state: string;
  started_at: number;
  ended_at: number | null;
}

function toTurnRecord(row: TurnRow): TurnRecord {
  return {
    number: row.n,
    conversation: row.conversation,
    runner: row.runner,
    attempt: row.attempt,
    state: row.state,
    startedAt: row.started_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
  };
}
