import type { Fresh, Open, Opened, Routing } from "../../core/conversation.ts";
import { PostriderError } from "../../core/errors.ts";
import { type Identity, identityOf, isShared, participantOf } from "../../core/identity.ts";
import { handleFor } from "../../core/ids.ts";
import { sessionKey } from "../../core/key.ts";
import { chatOf, type PersonId } from "../../core/owner.ts";
import { type ResetReason, resetReason } from "../../core/reset-reason.ts";
import type { EndReason, NewSession } from "../../core/session.ts";
import type { Source } from "../../core/source.ts";
import { type AccountRow, accountByNumber, personOf, resolveAccount } from "./accounts.ts";
import type { Db } from "./connection.ts";
import { type ConversationRow, type SessionRow, toConversation, toSession } from "./rows.ts";
import * as sql from "./sql.ts";

/** In conversations.account: who speaks in a group without a name. Never the 0 of what everyone shares. */
const NAMELESS = -1;

export interface Routed {
  readonly conversation: ConversationRow;
  readonly session: SessionRow;
  /** A session was made just now. */
  readonly created: boolean;
  readonly scopeKept: boolean;
}

export function open(db: Db, input: Open): Opened {
  const routed = route(db, input, input.fresh ?? false);
  const { conversation } = routed;
  const [origin, name] = originColumns(input.source);
  if (routed.session.origin !== origin || routed.session.display_name !== name) {
    db.run(sql.refreshOrigin, origin, name, routed.session.n);
  }
  return opened(db, conversation.n, routed);
}

/** The conversation of this source and its session, after the reset policy has spoken. */
export function route(db: Db, input: Routing, fresh: boolean): Routed {
  const { found, account, person } = placeOf(db, input);
  if (found === undefined) return begin(db, input, account, person());
  const scopeKept = found.account !== account;
  const session = sessionRow(db, found.session);
  const reason = fresh ? "new" : (found.expired ?? dueReset(db, input, found));
  if (reason === undefined) return { conversation: found, session, created: false, scopeKept };
  return { ...renew(db, input, found, session, reason), scopeKept };
}

export type Speaking = Pick<Routing, "source" | "profile" | "scope" | "person" | "now">;

/** Where someone speaks: the conversation there if there is one, and whose a new one would be. */
export interface Place {
  readonly found: ConversationRow | undefined;
  /** For conversations.account, under the rules asked for. */
  readonly account: number;
  person(): PersonId | undefined;
}

export function placeOf(db: Db, input: Speaking): Place {
  const { source, profile, now } = input;
  const identity = identityOf(source, input.scope, profile);
  const participant = participantOf(source);
  const speaker =
    participant === undefined ? undefined : resolveAccount(db, source, participant, input.person, now);
  const inDirectChat = source.chatType === "dm";
  const mine = inDirectChat ? 0 : (speaker?.n ?? NAMELESS);
  const shared = isShared(source, input.scope);
  const account = shared ? 0 : mine;
  const { platform, chatType, chatId, threadId = "" } = identity;
  const place = [identity.profile, platform, chatType, chatId, threadId];
  const found =
    mine === 0
      ? db.get<ConversationRow>(sql.conversationOfAll, ...place)
      : db.get<ConversationRow>(sql.conversationOf, ...place, mine);
  const personal = !shared && (account !== NAMELESS || input.person !== undefined);
  const person = () => (personal ? personOf(db, source, speaker, input.person, now) : undefined);
  return { found, account, person };
}

function begin(db: Db, input: Routing, account: number, person: string | undefined): Routed {
  const { source, profile, now } = input;
  const session = createSession(db, input.newSession, {
    profile,
    source,
    now,
    owner: ownerOf(source, person),
  });
  const n = beginConversation(db, input, account, person, session.n, now);
  decide(db, n, now, "created", { to: session.id });
  return { conversation: conversationRow(db, n), session, created: true, scopeKept: false };
}

export function beginConversation(
  db: Db,
  { source, profile, scope, now }: Speaking,
  account: number,
  person: string | undefined,
  session: number,
  activeAt: number,
): number {
  const { lastInsertRowid } = db.run(
    sql.insertConversation,
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
  return lastInsertRowid;
}

/** Whether the conversation is stale. Work that runs or waits there keeps it, and is written down once. */
export function dueReset(
  db: Db,
  input: Pick<Routing, "reset" | "now">,
  conversation: ConversationRow,
): "idle" | "daily" | undefined {
  const { reset, now } = input;
  const reason = resetReason(conversation.active_at, reset);
  if (reason === undefined) return undefined;
  const { n, session } = conversation;
  const work = db.get<{ turn: number; waiting: number; held: number; process: number }>(
    sql.activeWork,
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
  const last = db.get<{ decision: string }>(
    "select decision from decisions where conversation = ? order by n desc limit 1",
    n,
  );
  if (last?.decision !== "kept_busy") {
    decide(db, n, now, "kept_busy", {
      reason: `${reason}, but ${why}`,
      activeAt: conversation.active_at,
      reset,
    });
  }
  return undefined;
}

function renew(
  db: Db,
  input: Routing,
  conversation: ConversationRow,
  old: SessionRow,
  reason: "new" | "idle" | "daily",
): Omit<Routed, "scopeKept"> {
  const { source, now, reset } = input;
  const owner = ownerOf(source, conversation.person ?? undefined);
  const session = createSession(db, input.newSession, { profile: input.profile, source, now, owner });
  const notify = input.notify !== false && old.human_count > 0;
  point(db, conversation, session, reason, now, reason === "new" ? undefined : { reason, notify });
  const decision = reason === "new" ? "new" : "reset";
  decide(db, conversation.n, now, decision, {
    ...(reason !== "new" && { reason, activeAt: conversation.active_at, reset }),
    from: old.id,
    to: session.id,
  });
  return { conversation: conversationRow(db, conversation.n), session, created: true };
}

/** Points a conversation at a session; the one it leaves has ended if nothing else points there. */
export function point(
  db: Db,
  conversation: ConversationRow,
  session: SessionRow,
  reason: EndReason,
  now: number,
  fresh?: { readonly reason: ResetReason; readonly notify: boolean },
): void {
  const old = sessionRow(db, conversation.session);
  db.run(
    sql.pointConversation,
    session.n,
    now,
    fresh?.reason ?? null,
    fresh === undefined ? null : Math.min(1, old.human_count),
    fresh === undefined ? null : old.n,
    fresh === undefined ? 0 : 1,
    fresh?.notify ? 1 : 0,
    conversation.n,
  );
  if (old.n !== session.n) db.run(sql.endIfLeft, now, reason, old.n);
  db.run(sql.reopen, session.n);
}

export function createSession(
  db: Db,
  input: NewSession,
  at: { readonly profile: string; readonly owner: string; readonly now: number; readonly source?: Source },
  parent?: string,
): SessionRow {
  const { profile, owner, now, source } = at;
  db.run(sql.insertProfile, profile, now);
  const [origin, name] = source === undefined ? [null, null] : originColumns(source);
  const { lastInsertRowid } = db.run(
    sql.insertSession,
    freeId(db, input.id),
    input.kind,
    profile,
    owner,
    (source && chatOf(source)) ?? null,
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
  db.run(sql.setHandle, handleFor(lastInsertRowid), lastInsertRowid);
  return sessionRow(db, lastInsertRowid);
}

/** Ids made in the same second differ by 32 bits of chance; when that was not enough, the next number is taken. */
function freeId(db: Db, id: string): string {
  let free = id;
  while (db.get("select 1 from sessions where id = ?", free) !== undefined) {
    const chance = /_([0-9a-f]{8})$/.exec(free)?.[1];
    if (chance === undefined) throw new PostriderError("invalid_input", `There is a session ${id} already.`);
    const next = (Number.parseInt(chance, 16) + 1) % 2 ** 32;
    free = free.slice(0, -8) + next.toString(16).padStart(8, "0");
  }
  return free;
}

export function ownerOf(source: Source, person: string | undefined): string {
  // A direct chat always has a person; only what several people share belongs to the chat.
  return person ?? chatOf(source) ?? source.chatId;
}

export function originColumns(source: Source): [origin: string, name: string | null] {
  return [JSON.stringify(source), source.chatName ?? null];
}

export function opened(db: Db, conversation: number, routed: Pick<Routed, "created" | "scopeKept">): Opened {
  const row = conversationRow(db, conversation);
  const session = sessionRow(db, row.session);
  const fresh = freshOf(db, row);
  return {
    session: toSession(session),
    conversation: toConversation(row, keyOf(db, row), session.id),
    created: routed.created,
    scopeKept: routed.scopeKept,
    ...(fresh !== undefined && { fresh }),
  };
}

/** What a conversation's row says of its fresh start. */
export type FreshColumns = Pick<
  ConversationRow,
  "fresh_reason" | "fresh_had_activity" | "fresh_previous" | "note_due" | "notice_due"
>;

/** Why it started afresh, for as long as someone is still to be told. */
export function freshOf(db: Db, row: FreshColumns): Fresh | undefined {
  if (row.fresh_reason === null || row.fresh_previous === null || row.note_due + row.notice_due === 0)
    return undefined;
  const previous = db.get<SessionRow>(sql.sessionByNumber, row.fresh_previous);
  if (previous === undefined) return undefined;
  return {
    reason: row.fresh_reason,
    hadActivity: row.fresh_had_activity === 1,
    previous: { session: previous.id, handle: previous.handle },
    noteDue: row.note_due === 1,
    noticeDue: row.notice_due === 1,
  };
}

export function keyOf(db: Db, row: ConversationRow): string {
  return sessionKey(identityOfRow(db, row));
}

export function identityOfRow(db: Db, row: ConversationRow): Identity {
  const account = row.account <= 0 ? undefined : db.get<AccountRow>(accountByNumber, row.account);
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

interface Because {
  readonly reason?: string;
  readonly activeAt?: number;
  readonly reset?: Routing["reset"];
  readonly from?: string;
  readonly to?: string;
}

export function decide(db: Db, conversation: number, at: number, decision: string, because: Because): void {
  db.run(
    sql.insertDecision,
    conversation,
    at,
    decision,
    because.reason ?? null,
    because.activeAt ?? null,
    because.reset?.idleBefore ?? null,
    because.reset?.dailyBefore ?? null,
    because.from ?? null,
    because.to ?? null,
  );
}

export function sessionRow(db: Db, n: number): SessionRow {
  return present(db.get<SessionRow>(sql.sessionByNumber, n), "session", n);
}

export function conversationRow(db: Db, n: number): ConversationRow {
  return present(db.get<ConversationRow>(sql.conversationByNumber, n), "conversation", n);
}

function present<T>(row: T | undefined, what: string, n: number): T {
  if (row === undefined) throw new Error(`${what} ${n} is gone though another row names it`);
  return row;
}
