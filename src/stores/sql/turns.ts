import type { FreshStart } from "../../core/conversation.ts";
import type { Delivery, NewDelivery } from "../../core/delivery.ts";
import type { NewMessage } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import type {
  Accept,
  Accepted,
  AnswerDraft,
  Claim,
  ClaimBy,
  Finish,
  Finished,
  ResetNotification,
  SaveDraftInput,
  Turn,
} from "../../core/turn.ts";
import { insertMessages, recordBlobUses } from "./append.ts";
import { filterClaimable } from "./claimable.ts";
import type { Db } from "./db.ts";
import { insertDelivery } from "./deliveries.ts";
import { abandonDraft, completeDraft, findDraft } from "./drafts.ts";
import { findDuplicate, insertInboxRow } from "./inbox.ts";
import { parseObject } from "./json-columns.ts";
import {
  buildConversationKey,
  type FreshColumns,
  getSessionRow,
  readFresh,
  route,
  toOriginColumns,
} from "./routing.ts";
import {
  buildSession,
  type ConversationRow,
  parseConversationSettings,
  type SessionRow,
  toConversation,
  toSession,
} from "./rows.ts";
import { isRunnerAlive } from "./runners.ts";
import { expireTurnApprovalsSql } from "./statements/approvals.ts";
import { insertBlobSql } from "./statements/blobs.ts";
import {
  clearNoteDueSql,
  clearNoticeDueSql,
  conversationByNumberSql,
  touchConversationSql,
} from "./statements/conversations.ts";
import {
  cancelInboxSql,
  claimInboxSql,
  countPendingSql,
  finishInboxSql,
  pendingInConversationSql,
  pendingInSessionSql,
  refusedSinceSql,
  turnInputsSql,
} from "./statements/inbox.ts";
import {
  growAndClaimSessionSql,
  growAndReleaseSessionSql,
  sessionByIdSql,
  setOriginSql,
  takeSessionLeaseSql,
} from "./statements/sessions.ts";
import {
  endTurnSql,
  insertTurnSql,
  rerunTurnSql,
  runningTurnSql,
  saveTurnDraftSql,
  turnToFinishSql,
} from "./statements/turns.ts";
import { addSessionUsage } from "./usage.ts";

interface TurnRow {
  n: number;
  session: number;
  conversation: number;
  runner: string;
  fence: number;
  attempt: number;
  state: string;
  target: string;
  said: string | null;
  /** 1 if all inputs are proactive, without a message of a person. */
  unasked: number;
}

interface FinishedTurnRow extends TurnRow {
  next_seq: number;
  session_id: string;
  draft: number | null;
}

interface PendingRow extends TurnContextColumns {
  n: number;
  conversation: number;
  at: number;
  platform: string;
  runner: string | null;
  message: string;
  source: string;
}

/** The columns of the conversation that a turn needs. */
type TurnContextColumns = FreshColumns & Pick<ConversationRow, "settings">;

function readTurnContext(db: Db, conversation: TurnContextColumns): Pick<Turn, "settings" | "fresh"> {
  const fresh = readFresh(db, conversation);
  return { settings: parseConversationSettings(conversation), ...(fresh !== undefined && { fresh }) };
}

/** A message for a known conversation, and the runner that may claim it. */
export type InboundInput = Pick<Accept, "profile" | "source" | "messageId" | "message" | "claim" | "now">;

export function accept(db: Db, input: Accept): Accepted {
  const { now } = input;
  const duplicate = findDuplicate(db, input);
  if (duplicate !== undefined) return { duplicate: true, inbox: duplicate };

  const { conversation, session, usesOldScope } = route(db, input, false);
  const by =
    input.claim !== undefined && isSessionFree(db, session, input.claim, now) ? input.claim : undefined;
  const full = by === undefined ? refuseWhenFull(db, input, conversation) : undefined;
  if (full !== undefined) return full;
  for (const blob of input.blobs ?? []) db.send(insertBlobSql, blob.hash, blob.bytes.byteLength, blob.bytes);
  db.send(touchConversationSql, now, conversation.n);
  const fresh = readFresh(db, conversation);
  const claimed =
    by === undefined ? undefined : claimImmediately(db, input, by, conversation, session, fresh);
  const inbox = claimed?.inbox ?? queueInbound(db, input, conversation, session);
  const running = claimed === undefined ? db.get<TurnRow>(runningTurnSql, session.n) : undefined;
  return {
    duplicate: false,
    inbox,
    session:
      claimed === undefined
        ? toSession(getSessionRow(db, session.n))
        : buildSession(claimed.session, claimed.turn.target),
    conversation: {
      ...toConversation(conversation, buildConversationKey(db, conversation), session.id),
      activeAt: now,
    },
    usesOldScope,
    ...(fresh !== undefined && { fresh }),
    ...(claimed !== undefined && { turn: claimed.turn }),
    ...(running !== undefined && { running: running.n }),
  };
}

/** In one savepoint: a message that fails rolls back those before it, so that none overtakes it. */
export function acceptMany(db: Db, { messages }: { messages: readonly Accept[] }): Accepted[] {
  return messages.map((message) => accept(db, message));
}

/** No runner holds the session, and no pending input comes before the new one for this runner. */
export function isSessionFree(db: Db, session: SessionRow, by: ClaimBy, now: number): boolean {
  return session.lease_holder === null && listClaimableRows(db, session, by, now).length === 0;
}

/** The pending inputs of a session that this runner may claim, in order. */
function listClaimableRows(db: Db, session: SessionRow, by: ClaimBy, now: number): PendingRow[] {
  const rows = db.all<PendingRow>(pendingInSessionSql, session.n);
  // An unreadable row must not block others; it stays, and doctor names it.
  const readable = rows.filter(
    ({ message, source }) => parseObject(message) !== undefined && parseObject(source) !== undefined,
  );
  return filterClaimable(db, readable, by, now);
}

/** A message above the limit is stored as a row without text, so that a repeated one is not accepted later. */
function refuseWhenFull(db: Db, input: Accept, { n: conversation }: ConversationRow): Accepted | undefined {
  if (input.maxPending === undefined) return undefined;
  const pending = db.get<{ n: number; newest: number | null }>(countPendingSql, conversation);
  if (pending === undefined || pending.n < input.maxPending) return undefined;
  // Rows accepted later have higher numbers: so the queue has been full since its newest pending row.
  const isFirst = db.get(refusedSinceSql, conversation, pending.newest ?? 0) === undefined;
  const inbox = insertInboxRow(db, input, { conversation, state: "refused" });
  return { duplicate: false, inbox, tooMany: pending.n, isFirst };
}

export function queueInbound(
  db: Db,
  input: InboundInput,
  conversation: ConversationRow,
  session: SessionRow,
): number {
  const { source, message } = input;
  db.send(setOriginSql, ...toOriginColumns(source), session.n);
  // Until the message is claimed, its blobs belong to this session, or a removal elsewhere would delete them.
  recordBlobUses(db, session.n, message);
  return insertInboxRow(db, input, {
    conversation: conversation.n,
    state: "waiting",
    runner: input.claim?.runner,
    message: JSON.stringify(message),
    source: JSON.stringify(source),
  });
}

/** Starts the turn in the commit that accepts its input. */
export function claimImmediately(
  db: Db,
  input: InboundInput,
  by: ClaimBy,
  conversation: ConversationRow,
  session: SessionRow,
  fresh: FreshStart | undefined,
): { inbox: number; turn: Turn; session: SessionRow } {
  const { source, now } = input;
  const [target, name] = toOriginColumns(source);
  const turn = insertTurnRow(db, session, conversation.n, by, target, [input.message], now);
  const grown = insertMessages(db, session, [input.message], undefined, now);
  const inbox = insertInboxRow(db, input, {
    conversation: conversation.n,
    state: "running",
    runner: by.runner,
    turn: turn.number,
    seq: session.next_seq,
  });
  db.send(
    growAndClaimSessionSql,
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
    // Updated in place instead of a second read or a copy of all columns: every message waits for this step.
    session: Object.assign(session, {
      next_seq: session.next_seq + 1,
      last_at: Math.max(session.last_at, grown.lastAt),
      human_count: session.human_count + grown.humans,
      tool_call_count: session.tool_call_count + grown.toolCalls,
      origin: target,
      display_name: name,
      ended_at: null,
      end_reason: null,
    }),
    turn: {
      ...turn,
      target: source,
      inputs: grown.seqs,
      settings: parseConversationSettings(conversation),
      ...(fresh !== undefined && { fresh }),
    },
  };
}

export function claim(db: Db, input: Claim): Turn | undefined {
  const session = db.get<SessionRow>(sessionByIdSql, input.session);
  if (session === undefined) return undefined;
  if (session.lease_holder !== null && isRunnerAlive(db, session.lease_holder, input.now)) return undefined;
  const abandoned = db.get<TurnRow>(runningTurnSql, session.n);
  // Also for a runner that claims only its own inputs: behind an abandoned turn, none of them would ever run.
  if (abandoned !== undefined) return rerunTurn(db, session, abandoned, input, input.now);
  return startNextTurn(db, session, input, input.now);
}

/** A turn whose runner is gone runs again under a new fence; its inputs are in the session already. */
function rerunTurn(db: Db, session: SessionRow, turn: TurnRow, by: ClaimBy, now: number): Turn | undefined {
  // The target of the answer: as stored, or else the last source of the session.
  const target = parseObject<Source>(turn.target) ?? parseObject<Source>(session.origin);
  if (target === undefined) return undefined;
  const answerDraft = parseObject<AnswerDraft>(turn.said);
  const fence = session.fence + 1;
  db.send(takeSessionLeaseSql, by.runner, session.n);
  db.send(rerunTurnSql, by.runner, fence, by.deadline ?? null, now, turn.n);
  // Its conversation may be deleted with a later session.
  const conversation = db.get<ConversationRow>(conversationByNumberSql, turn.conversation);
  const draft = findDraft(db, turn.n);
  return {
    number: turn.n,
    session: session.id,
    conversation: turn.conversation,
    fence,
    attempt: turn.attempt + 1,
    target,
    inputs: db.all<{ seq: number }>(turnInputsSql, turn.n).map((row) => row.seq),
    ...(conversation === undefined ? { settings: {} } : readTurnContext(db, conversation)),
    ...(answerDraft !== undefined && { answerDraft }),
    ...(draft !== undefined && { draftDelivery: draft }),
  };
}

/** The oldest input that this runner may claim, or all of its conversation, becomes a turn. */
function startNextTurn(db: Db, session: SessionRow, by: ClaimBy, now: number): Turn | undefined {
  const pending = listClaimableRows(db, session, by, now);
  const first = pending[0];
  if (first === undefined) return undefined;
  const claimed =
    by.take === "one" ? [first] : pending.filter((row) => row.conversation === first.conversation);
  const target = claimed.at(-1)?.source ?? first.source;
  const source = JSON.parse(target) as Source;
  const messages = claimed.map(
    (row): NewMessage => ({ at: row.at, ...(JSON.parse(row.message) as NewMessage) }),
  );
  const turn = insertTurnRow(db, session, first.conversation, by, target, messages, now);
  const grown = insertMessages(db, session, messages, undefined, now);
  claimed.forEach((row, index) => {
    db.send(claimInboxSql, turn.number, grown.seqs[index], row.n);
  });
  db.send(
    growAndClaimSessionSql,
    claimed.length,
    grown.lastAt,
    grown.humans,
    grown.toolCalls,
    by.runner,
    ...toOriginColumns(source),
    session.n,
  );
  return { ...turn, target: source, inputs: grown.seqs, ...readTurnContext(db, first) };
}

/** Inserts the turn's row with the fence that the lease gets in the same step. */
function insertTurnRow(
  db: Db,
  session: SessionRow,
  conversation: number,
  by: ClaimBy,
  target: string,
  inputs: readonly NewMessage[],
  now: number,
): Omit<Turn, "target" | "inputs" | "settings"> {
  const fence = session.fence + 1;
  const isProactive = inputs.every(({ origin }) => origin?.proactive === true);
  const number = db.insert(
    insertTurnSql,
    session.n,
    conversation,
    by.runner,
    fence,
    target,
    by.deadline ?? null,
    now,
    isProactive ? 1 : 0,
  );
  return { number, session: session.id, conversation, fence, attempt: 1 };
}

/** One statement: this runs for every few words of an answer. */
export function saveDraft(db: Db, { turn, fence, answerDraft }: SaveDraftInput): { kept: true } | Refused {
  if (db.run(saveTurnDraftSql, JSON.stringify(answerDraft), turn, fence) > 0) return { kept: true };
  return refuse(
    "stale_fence",
    "This turn was finished or taken over by another runner; the draft was not saved.",
  );
}

export function finish(db: Db, input: Finish): Finished | Refused {
  const { now } = input;
  const turn = db.get<FinishedTurnRow>(turnToFinishSql, input.turn);
  if (turn === undefined || turn.state !== "running" || turn.fence !== input.fence) {
    return refuse(
      "stale_fence",
      "This turn was finished or taken over by another runner; nothing was stored.",
    );
  }
  const { session } = turn;
  const grown = insertMessages(db, { n: session, next_seq: turn.next_seq }, input.messages, input.blobs, now);
  db.send(growAndReleaseSessionSql, grown.seqs.length, grown.lastAt, grown.humans, grown.toolCalls, session);
  if (input.usage !== undefined)
    addSessionUsage(db, getSessionRow(db, session), { purpose: "answer", usage: input.usage, now });
  const deliveries = storeDeliveries(db, turn, input.deliveries ?? [], now);
  db.send(finishInboxSql, turn.n);
  db.send(endTurnSql, input.outcome, now, turn.n);
  if (turn.unasked === 0) db.send(touchConversationSql, now, turn.conversation);
  // Approvals of a crashed attempt that were not requested again: no turn waits for them.
  if (turn.attempt > 1) db.send(expireTurnApprovalsSql, now, session, turn.n);
  if (input.notified !== undefined)
    markResetNotified(db, { conversation: turn.conversation, notified: input.notified });
  const next =
    input.next === undefined ? undefined : startNextTurn(db, getSessionRow(db, session), input.next, now);
  return { seqs: grown.seqs, deliveries, ...(next !== undefined && { next }) };
}

/** The draft, if there is one, becomes one of the deliveries or is abandoned. A deleted draft was never shown. */
function storeDeliveries(
  db: Db,
  turn: FinishedTurnRow,
  deliveries: readonly NewDelivery[],
  now: number,
): Delivery[] {
  let { draft } = turn;
  const by = {
    session: { n: turn.session, id: turn.session_id },
    turn: turn.n,
    runner: turn.runner,
  };
  const stored = deliveries.map((delivery) => {
    if (draft === null || delivery.draft !== draft) return insertDelivery(db, by, delivery, now);
    const number = draft;
    draft = null;
    return completeDraft(db, number, delivery, by, now);
  });
  if (draft !== null) abandonDraft(db, draft, now);
  return stored;
}

export function markResetNotified(
  db: Db,
  input: { conversation: number; notified: ResetNotification },
): void {
  if (input.notified.note) db.send(clearNoteDueSql, input.conversation);
  if (input.notified.notice) db.send(clearNoticeDueSql, input.conversation);
}

export function cancelPending(db: Db, input: { conversation: number; now: number }): NewMessage[] {
  const pending = db.all<{ n: number; message: string }>(pendingInConversationSql, input.conversation);
  for (const row of pending) db.send(cancelInboxSql, row.n);
  return pending.flatMap((row) => parseObject<NewMessage>(row.message) ?? []);
}
