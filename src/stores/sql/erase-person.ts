import { countToolCalls, type NewMessage, type Part, ROLES } from "../../core/message.ts";
import { getChatAudience } from "../../core/owner.ts";
import { stripSender } from "../../core/person.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import { buildIndexText } from "../../core/search-terms.ts";
import type { Source } from "../../core/source.ts";
import type { ErasePerson, ErasureProgress } from "../../ports/access-store.ts";
import { getBlobHashes, releaseBlob } from "./blobs.ts";
import type { Db } from "./db.ts";
import { parseList, parseObject } from "./json-columns.ts";
import { eraseMemories } from "./memory.ts";
import { recordSender } from "./message-senders.ts";
import { erasePersonAccess } from "./person-access.ts";
import {
  buildSenderFilter,
  findPersonRow,
  findRunningProcess,
  hasRunningTurn,
  listAttributedElsewhere,
  listPersonAccounts,
  listPersonConversations,
  listPersonDeliveries,
  listPersonInbox,
  listPersonProcesses,
  listPersonTurns,
  listUnattributedElsewhere,
} from "./person-rows.ts";
import { deleteMessages, deleteSessionRecords, sweepRemoved } from "./removal.ts";
import { getSessionRow, insertSessionRow, pointConversation, recordDecision } from "./routing.ts";
import { type ConversationRow, SEQS_PER_SESSION, type SessionRow, toMessage, toMessageId } from "./rows.ts";
import { clearIndex, isIndexedRole } from "./search.ts";
import { deletePersonAccountsSql } from "./statements/accounts.ts";
import { conversationsInSessionSql } from "./statements/conversations.ts";
import {
  deleteConversationDecisionsSql,
  deleteConversationInboxSql,
  deleteConversationSql,
  deleteDeliverySql,
  deleteInboxSql,
  deleteProcessSql,
  deleteSessionBlobUsesSql,
  deleteSessionPiecesSql,
  deleteSessionSql,
} from "./statements/deletions.ts";
import {
  blankMessageSql,
  blankSessionSql,
  cancelTurnInboxSql,
  clearLeaseSql,
  countIndexedSql,
  deletePiecesElsewhereSql,
  firstUserMessageSql,
  messageIdsAfterSql,
  messageIdsBetweenSql,
  notesBetweenSql,
  replaceOriginSql,
  sessionByOwnerSql,
  sessionOriginsSql,
  setTurnTargetSql,
  subtractToolCallsSql,
} from "./statements/erasure.ts";
import { messagesBetweenSql, rolesBetweenSql } from "./statements/messages.ts";
import { deletePersonSql } from "./statements/people.ts";
import { clearFreshPreviousSql, sessionBlobsSql } from "./statements/removal.ts";
import { endUnreferencedSessionSql, setTitleSql } from "./statements/sessions.ts";
import { clearTurnDraftSql, endTurnSql } from "./statements/turns.ts";

/** The number of rows to scan for each message that a step may change. */
const SCANNED_ROWS_PER_MESSAGE = 20;

/**
 * One bounded step: a part of one session; then the person's messages elsewhere, in order; then the remaining rows.
 * Accounts are deleted last, because they identify the rest: after a crash, a new run finds it.
 */
export function erasePerson(db: Db, input: ErasePerson): ErasureProgress | Refused {
  const { person, after, limit, now } = input;
  if (findPersonRow(db, { person }) === undefined) return refuse("not_found", "There is no such person.");
  if (hasRunningTurn(db, person, now))
    return refuse("session_busy", "An answer to this person is being written. Stop it or wait for it first.");
  const process = findRunningProcess(db, person);
  if (process !== undefined) {
    const command = `postrider processes kill ${process}`;
    return refuse("session_busy", `A process still runs for this person: ${command} ends it.`);
  }
  const session = db.get<SessionRow>(sessionByOwnerSql, person);
  if (session !== undefined) {
    if (!clearLargeIndex(db, person)) eraseSession(db, session, limit, now);
    return { done: false, ...(after !== undefined && { after }) };
  }
  if (after === undefined) {
    // Found once, by a scan of every turn.
    for (const { id, target } of listUnattributedElsewhere(db, person)) {
      const source = parseObject<Source>(target);
      if (source !== undefined) recordSender(db, id, source);
    }
    return { done: false, after: 0 };
  }
  const last = db.rows(messageIdsAfterSql, after, limit * SCANNED_ROWS_PER_MESSAGE).at(-1)?.[0];
  if (last !== undefined) {
    eraseMessagesElsewhere(db, listAttributedElsewhere(db, person, { after, last: last as number }));
    return { done: false, after: last as number };
  }
  eraseRemainingRows(db, person, now);
  return { done: true };
}

/** Above this number, filling the index again is faster than removing single words from it. */
const MANY_INDEXED = 2000;

/** The next idle writer fills the index again; until then, searches read the texts themselves. */
function clearLargeIndex(db: Db, person: string): boolean {
  const indexed = db.get<{ n: number }>(countIndexedSql, person);
  if ((indexed?.n ?? 0) <= MANY_INDEXED) return false;
  clearIndex(db);
  return true;
}

/** Hides the session at once, then deletes it part by part. */
function eraseSession(db: Db, session: SessionRow, limit: number, now: number): void {
  const { n } = session;
  if (session.removed_at === null || session.origin !== null) eraseSessionRecords(db, session, now);
  const last = db
    .rows(messageIdsBetweenSql, toMessageId(n, 1), toMessageId(n, SEQS_PER_SESSION - 1), limit)
    .at(-1)?.[0] as number | undefined;
  if (last !== undefined) deleteMessages(db, session, { from: 1, to: last % SEQS_PER_SESSION });
  const left = db.get(messageIdsBetweenSql, toMessageId(n, 1), toMessageId(n, SEQS_PER_SESSION - 1), 1);
  if (left !== undefined) return;
  const hashes = db.all<{ hash: string }>(sessionBlobsSql, n);
  // Pieces of it in a view of another owner would show nothing.
  db.send(deletePiecesElsewhereSql, n);
  db.send(deleteSessionBlobUsesSql, n);
  db.send(deleteSessionSql, n);
  for (const { hash } of hashes) releaseBlob(db, hash);
  sweepRemoved(db, now);
}

function eraseSessionRecords(db: Db, session: SessionRow, now: number): void {
  const { n } = session;
  db.send(deleteSessionPiecesSql, n);
  deleteSessionRecords(db, n);
  // The views of forks stay, without their pieces of this session.
  db.send(deletePiecesElsewhereSql, n);
  for (const conversation of db.all<ConversationRow>(conversationsInSessionSql, n)) {
    if (conversation.person === session.owner) eraseConversation(db, conversation.n);
    else moveToNewSession(db, conversation, session, now);
  }
  db.send(clearFreshPreviousSql, n);
  db.send(blankSessionSql, now, n);
}

/** Moves the conversation of another person to a new session. */
function moveToNewSession(db: Db, conversation: ConversationRow, session: SessionRow, now: number): void {
  const { platform, chat_type: chatType, chat_id: chatId, thread_id, profile, person } = conversation;
  const source = { platform, chatType, chatId, ...(thread_id !== "" && { threadId: thread_id }) };
  const owner = person ?? getChatAudience(source) ?? chatId;
  const fresh = insertSessionRow(
    db,
    { id: crypto.randomUUID(), kind: session.kind },
    { profile, owner, now, source },
  );
  pointConversation(db, conversation, fresh, "switch", conversation.active_at);
  recordDecision(db, conversation.n, now, "new", { reason: "its session was erased", to: fresh.id });
}

function eraseConversation(db: Db, n: number): void {
  db.send(deleteConversationInboxSql, n);
  db.send(deleteConversationDecisionsSql, n);
  db.send(deleteConversationSql, n);
}

/** An erased message keeps its position, without text, names and files. */
const ERASED = JSON.stringify({ extra: { erased: true } });
/** A proactive message must not count as a message of a person afterwards. */
const ERASED_PROACTIVE = JSON.stringify({ origin: { proactive: true }, extra: { erased: true } });
const USER = ROLES.indexOf("user");
const NOTE = ROLES.indexOf("note");
const ROLES_PER_PAGE = 1000;

function eraseMessagesElsewhere(db: Db, ids: readonly number[]): void {
  for (const [n, personIds] of Map.groupBy(ids, (id) => Math.floor(id / SEQS_PER_SESSION))) {
    const session = getSessionRow(db, n);
    const first = db.get<{ id: number }>(
      firstUserMessageSql,
      toMessageId(n, 1),
      toMessageId(n, SEQS_PER_SESSION - 1),
    );
    // Automatic titles are made of the first message.
    if (first !== undefined && personIds.includes(first.id)) db.send(setTitleSql, null, n);
    for (const id of findMessagesToErase(db, n, new Set(personIds))) blankMessage(db, session, id);
    // The draft of the current turn may answer them, too.
    db.send(clearTurnDraftSql, n);
  }
}

/**
 * The person's messages, the answers to them (also together with messages of others), and every later summary: answers
 * and summaries repeat messages.
 */
function findMessagesToErase(db: Db, n: number, personIds: ReadonlySet<number>): number[] {
  const found: number[] = [];
  const first = Math.min(...personIds);
  const last = Math.max(...personIds);
  let isPersonTurn = false;
  let isAnswering = false;
  // In pages: what follows the last message may be long, and is needed only up to the next message of a person.
  for (let from = first, isDone = false; !isDone; ) {
    const page = db.rows(rolesBetweenSql, from, toMessageId(n, SEQS_PER_SESSION - 1), ROLES_PER_PAGE) as [
      number,
      number,
    ][];
    isDone = page.length < ROLES_PER_PAGE;
    for (const [id, role] of page) {
      from = id + 1;
      if (role === USER) {
        if (isAnswering && id > last) {
          isDone = true;
          break;
        }
        isPersonTurn = (isPersonTurn && !isAnswering) || personIds.has(id);
        isAnswering = false;
        if (personIds.has(id)) found.push(id);
      } else if (role !== NOTE) {
        isAnswering = true;
        if (isPersonTurn) found.push(id);
      }
    }
  }
  const notes = db.rows(notesBetweenSql, first, toMessageId(n, SEQS_PER_SESSION - 1)) as [
    number,
    string | null,
  ][];
  return [...found, ...notes.filter(([, meta]) => isSummary(meta)).map(([id]) => id)];
}

function isSummary(meta: string | null): boolean {
  return parseObject<NewMessage>(meta)?.extra?.summary === true;
}

function blankMessage(db: Db, session: SessionRow, id: number): void {
  const row = db.rows(messagesBetweenSql, id, id)[0];
  if (row === undefined || row[5] === ERASED || row[5] === ERASED_PROACTIVE) return;
  const message = toMessage(row, session.id);
  const meta = message.origin?.proactive ? ERASED_PROACTIVE : ERASED;
  const terms = isIndexedRole(ROLES[row[2] as number]) ? buildIndexText((row[3] as string | null) ?? "") : "";
  if (terms !== "" && id % SEQS_PER_SESSION <= session.indexed_seq) db.index.removeWords(db, id, terms);
  db.send(blankMessageSql, meta, id);
  const calls = countToolCalls(message);
  if (calls > 0) db.send(subtractToolCallsSql, calls, session.n);
  for (const hash of getBlobHashes(message)) releaseBlob(db, hash);
}

/** Deletes everything that is neither a session nor a message, and finally the person. */
function eraseRemainingRows(db: Db, person: string, now: number): void {
  const accounts = listPersonAccounts(db, person);
  const isSentByPerson = buildSenderFilter(accounts);
  const pending = listPersonInbox(db, person);
  for (const { n, message } of pending) {
    db.send(deleteInboxSql, n);
    for (const hash of getBlobHashes(parseObject<NewMessage>(message) ?? { parts: [] }))
      releaseBlob(db, hash);
  }
  for (const { n, session } of listPersonConversations(db, person)) {
    eraseConversation(db, n);
    db.send(endUnreferencedSessionSql, now, "closed", session);
  }
  for (const { n, session, parts } of listPersonDeliveries(db, person)) {
    db.send(deleteDeliverySql, n);
    if (session === null)
      for (const hash of getBlobHashes({ parts: parseList<Part>(parts) ?? [] })) releaseBlob(db, hash);
  }
  for (const { n, session, state, target } of listPersonTurns(db, person)) {
    if (state === "running") {
      // Its runner is gone, and no other runner must recover it.
      db.send(endTurnSql, "failed", now, n);
      db.send(cancelTurnInboxSql, n);
      db.send(clearLeaseSql, session);
    }
    db.send(setTurnTargetSql, removeNames(target), n);
  }
  for (const [n, origin] of db.rows(sessionOriginsSql)) {
    if (isSentByPerson(origin as string)) db.send(replaceOriginSql, removeNames(origin as string), n);
  }
  for (const { n } of listPersonProcesses(db, person)) db.send(deleteProcessSql, n);
  erasePersonAccess(db, person);
  eraseMemories(db, person);
  db.send(deletePersonAccountsSql, person);
  db.send(deletePersonSql, person);
}

function removeNames(source: string): string {
  const known = parseObject<Source>(source);
  return known === undefined ? "{}" : JSON.stringify(stripSender(known));
}
