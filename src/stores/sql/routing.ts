import type { FreshStart, Open, Opened, Routing } from "../../core/conversation.ts";
import { PostriderError } from "../../core/errors.ts";
import { buildIdentity, getParticipant, type Identity, isShared } from "../../core/identity.ts";
import { encodeHandle } from "../../core/ids.ts";
import { sessionKey } from "../../core/key.ts";
import { getChatAudience, type PersonId } from "../../core/owner.ts";
import { type ResetReason, resetReason } from "../../core/reset-reason.ts";
import type { EndReason, NewSession } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import { type AccountRow, resolveAccount, resolvePerson } from "./accounts.ts";
import type { Db } from "./db.ts";
import { type ConversationRow, type SessionRow, toConversation, toSession } from "./rows.ts";
import { accountByNumberSql } from "./statements/accounts.ts";
import {
  conversationByIdentitySql,
  conversationByNumberSql,
  insertConversationSql,
  insertDecisionSql,
  pointConversationSql,
  sharedConversationSql,
} from "./statements/conversations.ts";
import { lastDecisionSql } from "./statements/decisions.ts";
import {
  activeWorkSql,
  endUnreferencedSessionSql,
  insertProfileSql,
  insertSessionSql,
  reopenSessionSql,
  sessionByNumberSql,
  sessionIdTakenSql,
  setHandleSql,
  setOriginSql,
} from "./statements/sessions.ts";

/**
 * In conversations.account: a sender without a name in a group. Different from 0, the account of shared conversations.
 */
const ANONYMOUS_ACCOUNT = -1;

export interface RouteResult {
  readonly conversation: ConversationRow;
  readonly session: SessionRow;
  /** The session was created by this call. */
  readonly created: boolean;
  readonly usesOldScope: boolean;
}

export function open(db: Db, input: Open): Opened {
  const routed = route(db, input, input.fresh ?? false);
  const { conversation } = routed;
  const [origin, name] = toOriginColumns(input.source);
  if (routed.session.origin !== origin || routed.session.display_name !== name) {
    db.send(setOriginSql, origin, name, routed.session.n);
  }
  return readOpened(db, conversation.n, routed);
}

/** The conversation of this source and its session, after the reset policy. */
export function route(db: Db, input: Routing, fresh: boolean): RouteResult {
  const match = lookUpConversation(db, input);
  const { found, account } = match;
  if (found === undefined)
    return startConversation(db, input, account, resolveConversationPerson(db, input, match));
  const usesOldScope = found.account !== account;
  const session = getSessionRow(db, found.session);
  const reason = fresh ? "new" : (found.expired ?? findDueReset(db, input, found));
  if (reason === undefined) return { conversation: found, session, created: false, usesOldScope };
  return { ...renewSession(db, input, found, session, reason), usesOldScope };
}

export type ConversationLookup = Pick<Routing, "source" | "profile" | "scope" | "person" | "now">;

/** The conversation at a source, if there is one, and the account that a new one would have. */
export interface ConversationMatch {
  readonly found: ConversationRow | undefined;
  /** For conversations.account, under the rules of the request. */
  readonly account: number;
  /** The account of the sender. */
  readonly speaker: AccountRow | undefined;
}

export function lookUpConversation(db: Db, input: ConversationLookup): ConversationMatch {
  const { source, profile, now } = input;
  const identity = buildIdentity(source, input.scope, profile);
  const participant = getParticipant(source);
  const speaker =
    participant === undefined ? undefined : resolveAccount(db, source, participant, input.person, now);
  const inDirectChat = source.chatType === "dm";
  const ownAccount = inDirectChat ? 0 : (speaker?.n ?? ANONYMOUS_ACCOUNT);
  const account = isShared(source, input.scope) ? 0 : ownAccount;
  const { platform, chatType, chatId, threadId = "" } = identity;
  const chat = [identity.profile, platform, chatType, chatId, threadId];
  const found =
    ownAccount === 0
      ? db.get<ConversationRow>(sharedConversationSql, ...chat)
      : db.get<ConversationRow>(conversationByIdentitySql, ...chat, ownAccount);
  return { found, account, speaker };
}

/** The person of a new conversation at this source; creates the person if necessary. */
export function resolveConversationPerson(
  db: Db,
  { source, scope, person, now }: Pick<ConversationLookup, "source" | "scope" | "person" | "now">,
  { account, speaker }: Pick<ConversationMatch, "account" | "speaker">,
): PersonId | undefined {
  const isPersonal = !isShared(source, scope) && (account !== ANONYMOUS_ACCOUNT || person !== undefined);
  return isPersonal ? resolvePerson(db, source, speaker, person, now) : undefined;
}

function startConversation(db: Db, input: Routing, account: number, person: string | undefined): RouteResult {
  const { source, profile, now } = input;
  const session = insertSessionRow(db, input.newSession, {
    profile,
    source,
    now,
    owner: getSessionOwner(source, person),
  });
  const n = insertConversationRow(db, input, account, person, session.n, now);
  recordDecision(db, n, now, "created", { to: session.id });
  return { conversation: getConversationRow(db, n), session, created: true, usesOldScope: false };
}

export function insertConversationRow(
  db: Db,
  { source, profile, scope, now }: ConversationLookup,
  account: number,
  person: string | undefined,
  session: number,
  activeAt: number,
): number {
  const number = db.insert(
    insertConversationSql,
    profile,
    source.platform,
    source.chatType,
    source.chatId,
    source.threadId ?? "",
    account,
    person ?? null,
    scope.groupsPerUser ? 1 : 0,
    scope.threadsPerUser ? 1 : 0,
    session,
    activeAt,
    now,
  );
  return number;
}

/** The reason for a reset that is due. Running or pending work prevents it, which is recorded once. */
export function findDueReset(
  db: Db,
  input: Pick<Routing, "reset" | "now">,
  conversation: ConversationRow,
): "idle" | "daily" | undefined {
  const { reset, now } = input;
  const reason = resetReason(conversation.active_at, reset);
  if (reason === undefined) return undefined;
  const { n, session } = conversation;
  const work = db.get<{ turn: number; waiting: number; held: number; process: number }>(
    activeWorkSql,
    session,
    n,
    session,
    now,
    session,
  );
  if (work === undefined || work.turn + work.waiting + work.held + work.process === 0) return reason;
  const why = work.turn
    ? "a turn runs"
    : work.waiting
      ? "input waits"
      : work.process
        ? "a process runs"
        : "a hold";
  const last = db.get<{ decision: string }>(lastDecisionSql, n);
  if (last?.decision !== "kept_busy") {
    recordDecision(db, n, now, "kept_busy", {
      reason: `${reason}, but ${why}`,
      activeAt: conversation.active_at,
      reset,
    });
  }
  return undefined;
}

function renewSession(
  db: Db,
  input: Routing,
  conversation: ConversationRow,
  old: SessionRow,
  reason: "new" | "idle" | "daily",
): Omit<RouteResult, "usesOldScope"> {
  const { source, now, reset } = input;
  const owner = getSessionOwner(source, conversation.person ?? undefined);
  const session = insertSessionRow(db, input.newSession, { profile: input.profile, source, now, owner });
  const notify = input.notify !== false && old.human_count > 0;
  pointConversation(
    db,
    conversation,
    session,
    reason,
    now,
    reason === "new" ? undefined : { reason, notify },
  );
  const decision = reason === "new" ? "new" : "reset";
  recordDecision(db, conversation.n, now, decision, {
    ...(reason !== "new" && { reason, activeAt: conversation.active_at, reset }),
    from: old.id,
    to: session.id,
  });
  return { conversation: getConversationRow(db, conversation.n), session, created: true };
}

/** Points a conversation to a session; the old session ends if no other conversation points to it. */
export function pointConversation(
  db: Db,
  conversation: ConversationRow,
  session: SessionRow,
  reason: EndReason,
  now: number,
  fresh?: { readonly reason: ResetReason; readonly notify: boolean },
): void {
  const old = getSessionRow(db, conversation.session);
  db.send(
    pointConversationSql,
    session.n,
    now,
    fresh?.reason ?? null,
    fresh === undefined ? null : Math.min(1, old.human_count),
    fresh === undefined ? null : old.n,
    fresh === undefined ? 0 : 1,
    fresh?.notify ? 1 : 0,
    conversation.n,
  );
  if (old.n !== session.n) db.send(endUnreferencedSessionSql, now, reason, old.n);
  db.send(reopenSessionSql, session.n);
}

export function insertSessionRow(
  db: Db,
  input: NewSession,
  at: { readonly profile: string; readonly owner: string; readonly now: number; readonly source?: Source },
  parent?: string,
): SessionRow {
  const { profile, owner, now, source } = at;
  db.send(insertProfileSql, profile, now);
  const [origin, name] = source === undefined ? [null, null] : toOriginColumns(source);
  const number = db.insert(
    insertSessionSql,
    findFreeId(db, input.id),
    input.kind,
    profile,
    owner,
    (source && getChatAudience(source)) ?? null,
    input.title ?? null,
    source?.platform ?? null,
    origin,
    name,
    input.cwd ?? null,
    input.model ?? null,
    input.provider ?? null,
    input.baseUrl ?? null,
    input.config === undefined ? null : JSON.stringify(input.config),
    now,
    now,
    parent ?? null,
  );
  db.send(setHandleSql, encodeHandle(number), number);
  return getSessionRow(db, number);
}

/** Ids of the same second differ by 32 random bits; if they collide, the next number is used. */
function findFreeId(db: Db, id: string): string {
  let free = id;
  while (db.get(sessionIdTakenSql, free) !== undefined) {
    const suffix = /_([0-9a-f]{8})$/.exec(free)?.[1];
    if (suffix === undefined) throw new PostriderError("invalid_input", `There is a session ${id} already.`);
    const next = (Number.parseInt(suffix, 16) + 1) % 2 ** 32;
    free = free.slice(0, -8) + next.toString(16).padStart(8, "0");
  }
  return free;
}

export function getSessionOwner(source: Source, person: string | undefined): string {
  // A direct chat always has a person; only a shared conversation belongs to the chat.
  return person ?? getChatAudience(source) ?? source.chatId;
}

export function toOriginColumns(source: Source): [origin: string, name: string | null] {
  return [JSON.stringify(source), source.chatName ?? null];
}

export function readOpened(
  db: Db,
  conversation: number,
  routed: Pick<RouteResult, "created" | "usesOldScope">,
): Opened {
  const row = getConversationRow(db, conversation);
  const session = getSessionRow(db, row.session);
  const fresh = readFresh(db, row);
  return {
    session: toSession(session),
    conversation: toConversation(row, buildConversationKey(db, row), session.id),
    created: routed.created,
    usesOldScope: routed.usesOldScope,
    ...(fresh !== undefined && { fresh }),
  };
}

/** The columns of a conversation about its last reset. */
export type FreshColumns = Pick<
  ConversationRow,
  "fresh_reason" | "fresh_had_activity" | "fresh_previous" | "note_due" | "notice_due"
>;

/** The last reset, while a note or notice about it is due. */
export function readFresh(db: Db, row: FreshColumns): FreshStart | undefined {
  if (row.fresh_reason === null || row.fresh_previous === null || row.note_due + row.notice_due === 0)
    return undefined;
  const previous = db.get<SessionRow>(sessionByNumberSql, row.fresh_previous);
  if (previous === undefined) return undefined;
  return {
    reason: row.fresh_reason,
    hadActivity: row.fresh_had_activity === 1,
    previous: { session: previous.id, handle: previous.handle },
    noteDue: row.note_due === 1,
    noticeDue: row.notice_due === 1,
  };
}

export function buildConversationKey(db: Db, row: ConversationRow): string {
  return sessionKey(toIdentity(db, row));
}

export function toIdentity(db: Db, row: ConversationRow): Identity {
  const account = row.account <= 0 ? undefined : db.get<AccountRow>(accountByNumberSql, row.account);
  return {
    profile: row.profile,
    platform: row.platform,
    chatType: row.chat_type,
    chatId: row.chat_id,
    ...(row.thread_id !== "" && { threadId: row.thread_id }),
    ...(account !== undefined && {
      participant: {
        ...(account.user_id !== null && { id: account.user_id }),
        ...(account.alt_id !== null && { altId: account.alt_id }),
      },
    }),
  };
}

interface DecisionDetails {
  readonly reason?: string;
  readonly activeAt?: number;
  readonly reset?: Routing["reset"];
  readonly from?: string;
  readonly to?: string;
}

export function recordDecision(
  db: Db,
  conversation: number,
  at: number,
  decision: string,
  details: DecisionDetails,
): void {
  db.send(
    insertDecisionSql,
    conversation,
    at,
    decision,
    details.reason ?? null,
    details.activeAt ?? null,
    details.reset?.idleBefore ?? null,
    details.reset?.dailyBefore ?? null,
    details.from ?? null,
    details.to ?? null,
  );
}

export function getSessionRow(db: Db, n: number): SessionRow {
  return requireRow(db.get<SessionRow>(sessionByNumberSql, n), "session", n);
}

export function getConversationRow(db: Db, n: number): ConversationRow {
  return requireRow(db.get<ConversationRow>(conversationByNumberSql, n), "conversation", n);
}

function requireRow<T>(row: T | undefined, table: string, n: number): T {
  if (row === undefined) throw new Error(`${table} ${n} is missing although another row refers to it`);
  return row;
}
