import { PostriderError } from "../../core/errors.ts";
import type { NewMessage } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import type { Accept, Accepted, Claim, ClaimBy, Finish, Finished, Shown, Turn } from "../../core/turn.ts";
import { insertMessages, useBlobs } from "./append.ts";
import type { Db } from "./connection.ts";
import { insertDelivery } from "./deliveries.ts";
import { freshOf, keyOf, originColumns, route, sessionRow } from "./routing.ts";
import { type ConversationRow, type SessionRow, toConversation, toSession } from "./rows.ts";
import { alive } from "./runners.ts";
import { addUsageTo } from "./sessions.ts";
import * as sql from "./sql.ts";

interface TurnRow {
  n: number;
  session: number;
  conversation: number;
  runner: string;
  fence: number;
  attempt: number;
  state: string;
  target: string;
}

interface WaitingRow {
  n: number;
  conversation: number;
  at: number;
  message: string;
  source: string;
}

/** inbox.state. Partial indexes name the first two to the letter. */
const WAITING = 0;
const CLAIMED = 1;

export function accept(db: Db, input: Accept): Accepted {
  const { profile, source, messageId, now } = input;
  if (messageId === "") {
    // Without a name of its own every message would be a duplicate of the first.
    throw new PostriderError("invalid_input", "A message needs the id its platform gave it.", {
      details: { field: "messageId" },
    });
  }
  const seen = db.get<{ n: number }>(sql.inboxOnce, profile, source.platform, source.chatId, messageId);
  if (input.cursor !== undefined) db.run(sql.setCursor, input.cursor.name, input.cursor.value, now);
  if (seen !== undefined) return { duplicate: true, inbox: seen.n };

  const { conversation, session, scopeKept } = route(db, input, false);
  for (const blob of input.blobs ?? []) db.run(sql.insertBlob, blob.hash, blob.bytes.byteLength, blob.bytes);
  db.run(sql.touchConversation, now, conversation.n);
  const claimed =
    input.claim === undefined ? undefined : claimAtOnce(db, input, input.claim, conversation, session);
  const inbox = claimed?.inbox ?? wait(db, input, conversation, session);
  const fresh = freshOf(db, conversation);
  return {
    duplicate: false,
    inbox,
    session: toSession(claimed?.session ?? sessionRow(db, session.n)),
    conversation: toConversation({ ...conversation, active_at: now }, keyOf(db, conversation), session.id),
    scopeKept,
    ...(fresh !== undefined && { fresh }),
    ...(claimed !== undefined && { turn: claimed.turn }),
  };
}

function wait(db: Db, input: Accept, conversation: ConversationRow, session: SessionRow): number {
  const { source, messageId, message, now } = input;
  db.run(sql.refreshOrigin, ...originColumns(source), session.n);
  // Until it is claimed the bytes belong here, or a removal elsewhere would take them for unused.
  useBlobs(db, session.n, message);
  return db.run(
    sql.insertInbox,
    input.profile,
    source.platform,
    source.chatId,
    messageId,
    conversation.n,
    now,
    WAITING,
    input.claim?.runner ?? null,
    JSON.stringify(message),
    JSON.stringify(source),
    null,
    null,
  ).lastInsertRowid;
}

/** The turn begins in the commit that accepts its input, if nobody holds the session and nothing waits before it. */
function claimAtOnce(
  db: Db,
  input: Accept,
  by: ClaimBy,
  conversation: ConversationRow,
  session: SessionRow,
): { inbox: number; turn: Turn; session: SessionRow } | undefined {
  const { source, now } = input;
  if (session.lease_holder !== null || db.get(sql.waitingInSession, session.n) !== undefined)
    return undefined;
  const [target, name] = originColumns(source);
  const begun = beginTurn(db, session, conversation.n, by, target, now);
  const grown = insertMessages(db, session, [input.message], undefined, now);
  const inbox = db.run(
    sql.insertInbox,
    input.profile,
    source.platform,
    source.chatId,
    input.messageId,
    conversation.n,
    now,
    CLAIMED,
    by.runner,
    null,
    null,
    begun.number,
    session.next_seq,
  ).lastInsertRowid;
  db.run(
    sql.growAndClaim,
    1,
    grown.lastAt,
    grown.humans,
    grown.toolCalls,
    by.runner,
    target,
    name,
    session.n,
  );
  return {
    inbox,
    // As the row is now, without reading it again: this is the step that every message waits for.
    session: {
      ...session,
      next_seq: session.next_seq + 1,
      last_at: Math.max(session.last_at, grown.lastAt),
      human_count: session.human_count + grown.humans,
      tool_call_count: session.tool_call_count + grown.toolCalls,
      origin: target,
      display_name: name,
      ended_at: null,
      end_reason: null,
    },
    turn: { ...begun, target: source, inputs: grown.seqs },
  };
}

export function claim(db: Db, input: Claim): Turn | undefined {
  const session = db.get<SessionRow>(sql.sessionById, input.session);
  if (session === undefined) return undefined;
  if (session.lease_holder !== null && alive(db, session.lease_holder, input.now)) return undefined;
  const abandoned = db.get<TurnRow>(sql.runningTurn, session.n);
  if (abandoned !== undefined) return takeUp(db, session, abandoned, input, input.now);
  return takeNext(db, session, input, input.now);
}

/** A turn whose runner is gone runs again under a new fence; its inputs are in the session already. */
function takeUp(db: Db, session: SessionRow, turn: TurnRow, by: ClaimBy, now: number): Turn {
  const fence = session.fence + 1;
  db.run(sql.takeLease, by.runner, session.n);
  db.run(sql.takeUpTurn, by.runner, fence, by.deadline ?? null, now, turn.n);
  return {
    number: turn.n,
    session: session.id,
    conversation: turn.conversation,
    fence,
    attempt: turn.attempt + 1,
    target: JSON.parse(turn.target) as Source,
    inputs: db.all<{ seq: number }>(sql.inputsOfTurn, turn.n).map((row) => row.seq),
  };
}

/** The oldest waiting input, or all that waits in the same conversation, becomes a turn. */
function takeNext(db: Db, session: SessionRow, by: ClaimBy, now: number): Turn | undefined {
  const waiting = db.all<WaitingRow>(sql.waitingInSession, session.n);
  const first = waiting[0];
  if (first === undefined) return undefined;
  const taken =
    by.take === "one" ? [first] : waiting.filter((row) => row.conversation === first.conversation);
  const target = taken.at(-1)?.source ?? first.source;
  const source = JSON.parse(target) as Source;
  const begun = beginTurn(db, session, first.conversation, by, target, now);
  const messages = taken.map(
    (row): NewMessage => ({ at: row.at, ...(JSON.parse(row.message) as NewMessage) }),
  );
  const grown = insertMessages(db, session, messages, undefined, now);
  taken.forEach((row, index) => {
    db.run(sql.claimInbox, begun.number, grown.seqs[index], row.n);
  });
  db.run(
    sql.growAndClaim,
    taken.length,
    grown.lastAt,
    grown.humans,
    grown.toolCalls,
    by.runner,
    ...originColumns(source),
    session.n,
  );
  return { ...begun, target: source, inputs: grown.seqs };
}

/** The turn's row, under the fence that taking the lease in the same step will give. */
function beginTurn(
  db: Db,
  session: SessionRow,
  conversation: number,
  by: ClaimBy,
  target: string,
  now: number,
): Omit<Turn, "target" | "inputs"> {
  const fence = session.fence + 1;
  const number = db.run(
    sql.insertTurn,
    session.n,
    conversation,
    by.runner,
    fence,
    target,
    by.deadline ?? null,
    now,
  ).lastInsertRowid;
  return { number, session: session.id, conversation, fence, attempt: 1 };
}

export function finish(db: Db, input: Finish): Finished | Refused {
  const { now } = input;
  const turn = db.get<TurnRow & { next_seq: number }>(sql.turnToFinish, input.turn);
  if (turn === undefined || turn.state !== "running" || turn.fence !== input.fence) {
    return refuse(
      "stale_fence",
      "This turn was finished or taken over by another runner; nothing of this was stored.",
    );
  }
  const { session } = turn;
  const grown = insertMessages(db, { n: session, next_seq: turn.next_seq }, input.messages, input.blobs, now);
  db.run(sql.growAndRelease, grown.seqs.length, grown.lastAt, grown.humans, grown.toolCalls, session);
  if (input.usage !== undefined) addUsageTo(db, sessionRow(db, session), input.usage);
  const deliveries = (input.deliveries ?? []).map((delivery) =>
    insertDelivery(db, session, turn.n, turn.runner, delivery, now),
  );
  db.run(sql.inboxDone, turn.n);
  db.run(sql.endTurn, input.outcome, now, turn.n);
  db.run(sql.touchConversation, now, turn.conversation);
  if (input.shown !== undefined) markShown(db, { conversation: turn.conversation, shown: input.shown });
  const next = input.next === undefined ? undefined : takeNext(db, sessionRow(db, session), input.next, now);
  return { seqs: grown.seqs, deliveries, ...(next !== undefined && { next }) };
}

export function markShown(db: Db, input: { conversation: number; shown: Shown }): void {
  if (input.shown.note) db.run("update conversations set note_due = 0 where n = ?", input.conversation);
  if (input.shown.notice) db.run("update conversations set notice_due = 0 where n = ?", input.conversation);
}

export function cancelWaiting(db: Db, input: { conversation: number; now: number }): NewMessage[] {
  const waiting = db.all<{ n: number; message: string }>(sql.waitingInConversation, input.conversation);
  for (const row of waiting) db.run(sql.cancelInbox, row.n);
  return waiting.map((row) => JSON.parse(row.message) as NewMessage);
}
