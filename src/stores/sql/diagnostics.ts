import type { ConversationDetails, Diagnostics, InboundRecord, TurnRecord } from "../../core/diagnostics.ts";
import { matchesKey, parseKey } from "../../core/key.ts";
import { type Asker, isEveryone } from "../../core/owner.ts";
import type { InboundQuery } from "../../ports/inbox-store.ts";
import type { SessionRequest } from "../../ports/store-request.ts";
import type { AccountRow } from "./accounts.ts";
import type { Db } from "./db.ts";
import { type DeliveryRow, toDelivery } from "./deliveries.ts";
import { INBOX_STATES } from "./inbox.ts";
import { convertReadable } from "./json-columns.ts";
import { buildConversationKey, getSessionRow, toIdentity } from "./routing.ts";
import { type ConversationRow, type SessionRow, toConversation } from "./rows.ts";
import { type DecisionRow, toDecision } from "./session-reads.ts";
import { accountByNumberSql } from "./statements/accounts.ts";
import {
  conversationByNumberSql,
  conversationsInSessionSql,
  conversationsWithKeySql,
} from "./statements/conversations.ts";
import { decisionsAboutSessionSql } from "./statements/decisions.ts";
import { deliveriesInSessionSql } from "./statements/deliveries.ts";
import { holdsInSessionSql } from "./statements/holds.ts";
import { inboundByMessageIdSql, inboundBySeqSql, pendingInConversationSql } from "./statements/inbox.ts";
import { backgroundProcessesSql } from "./statements/processes.ts";
import { sessionByNumberSql } from "./statements/sessions.ts";
import { turnByNumberSql, turnsInSessionSql } from "./statements/turns.ts";
import { canSpeakIn, findConversationRow } from "./switching.ts";
import { findVisibleSession, isVisible } from "./visibility.ts";

const MAX_ROWS = 20;

export function getDiagnostics(db: Db, input: SessionRequest): Diagnostics | undefined {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return undefined;
  const { n } = session;
  return {
    conversations: db
      .all<ConversationRow>(conversationsInSessionSql, n)
      .filter((row) => canSpeakIn(input.asker, row))
      .map((row) => describeConversation(db, row)),
    turns: db.all<TurnRow>(turnsInSessionSql, n, MAX_ROWS).map(toTurnRecord),
    deliveries: convertReadable(db.all<DeliveryRow>(deliveriesInSessionSql, n, MAX_ROWS), toDelivery),
    decisions: db
      .all<DecisionRow>(decisionsAboutSessionSql, session.id, session.id, MAX_ROWS)
      .filter((row) => findConversationRow(db, input.asker, row.conversation) !== undefined)
      .map((row) => ({ ...toDecision(row), conversation: row.conversation })),
    holds: db.all(holdsInSessionSql, n),
    processes: db.all(backgroundProcessesSql, n),
  };
}

/** All conversations with this key: several identities can have the same printed form, and accounts change their ids. */
export function findConversationsByKey(db: Db, input: { asker: Asker; key: string }): ConversationDetails[] {
  const parsed = parseKey(input.key);
  if (parsed === undefined) return [];
  return db
    .all<ConversationRow>(
      conversationsWithKeySql,
      parsed.profile,
      parsed.platform,
      parsed.chatType,
      parsed.parts[0],
    )
    .filter((row) => canSpeakIn(input.asker, row) && matchesKey(input.key, toIdentity(db, row)))
    .map((row) => describeConversation(db, row));
}

/** The inbox rows of a message, by its position in a session or by its id on the platform. */
export function findInbound(db: Db, input: InboundQuery): InboundRecord[] {
  const rows =
    "seq" in input
      ? findInboxRows(db, input.asker, input.session, input.seq)
      : db.all<InboxRow>(inboundByMessageIdSql, input.platform, input.chatId, input.messageId);
  return rows.flatMap((row) => toInboundRecord(db, input.asker, row) ?? []);
}

function findInboxRows(db: Db, asker: Asker, id: string, seq: number): InboxRow[] {
  const session = findVisibleSession(db, asker, id);
  if (session === undefined) return [];
  return db.all<InboxRow>(inboundBySeqSql, seq, session.n);
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

function toInboundRecord(db: Db, asker: Asker, row: InboxRow): InboundRecord | undefined {
  const turn = row.turn === null ? undefined : db.get<TurnRow>(turnByNumberSql, row.turn);
  const session = turn && db.get<SessionRow>(sessionByNumberSql, turn.session);
  const conversation = db.get<ConversationRow>(conversationByNumberSql, row.conversation);
  const isAllowed =
    isEveryone(asker) ||
    (session !== undefined && isVisible(asker, session)) ||
    (conversation !== undefined && canSpeakIn(asker, conversation));
  if (!isAllowed) return undefined;
  return {
    platform: row.platform,
    chatId: row.chat_id,
    messageId: row.message_id,
    at: row.at,
    state: INBOX_STATES[row.state] ?? "done",
    conversation: row.conversation,
    ...findInboundSession(db, row, session, conversation),
    ...(row.seq !== null && { seq: row.seq }),
    ...(turn !== undefined && { turn: toTurnRecord(turn) }),
  };
}

function findInboundSession(
  db: Db,
  { state }: InboxRow,
  session: SessionRow | undefined,
  conversation: ConversationRow | undefined,
): { session?: string } {
  const isPending = INBOX_STATES[state] === "waiting" && conversation !== undefined;
  const found = isPending ? getSessionRow(db, conversation.session) : session;
  return found === undefined || found.removed_at !== null ? {} : { session: found.id };
}

export function describeConversation(db: Db, row: ConversationRow): ConversationDetails {
  const session = getSessionRow(db, row.session);
  const account = findAccountRow(db, row);
  const name = account?.name ?? undefined;
  const { participant } = toIdentity(db, row);
  return {
    ...toConversation(row, buildConversationKey(db, row), session.id),
    identity: toIdentity(db, row),
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
    waiting: db.all(pendingInConversationSql, row.n).length,
  };
}

function findAccountRow(
  db: Db,
  { account }: ConversationRow,
): (AccountRow & { name: string | null }) | undefined {
  return account <= 0 ? undefined : db.get(accountByNumberSql, account);
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
