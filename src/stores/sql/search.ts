import type { Hit, SearchNeighbour, SearchRequest } from "../../core/listing.ts";
import { ROLES, type Role } from "../../core/message.ts";
import { matchesQuery, parseQuery, type SearchQuery } from "../../core/search-query.ts";
import { buildIndexText, extractTerms } from "../../core/search-terms.ts";
import { buildSnippet, shortenNeighbour } from "../../core/snippet.ts";
import type { Db, RankedHit, SessionScope } from "./db.ts";
import { SEQS_PER_SESSION, type SessionRow, toMessageId } from "./rows.ts";
import { messageByIdSql } from "./statements/messages.ts";
import {
  buildCountUnindexedSql,
  buildSearchScopeSql,
  buildUnindexedInScopeSql,
  clearIndexedSeqsSql,
  newestUnindexedMessagesSql,
  setIndexedSeqSql,
  unindexedMessagesSql,
  unindexedSessionsSql,
} from "./statements/search.ts";
import { buildOneOfCondition } from "./statements/session-lists.ts";
import { sessionByNumberSql } from "./statements/sessions.ts";
import { hiddenMessageSql, sessionsShowingMessageSql } from "./statements/views.ts";
import { buildVisibleCondition, isVisible } from "./visibility.ts";

/** Ranking costs time for every hit, and a common word has more hits than anyone reads: only the newest are ranked. */
const MAX_RANKED_HITS = 2000;
/** Takes some tenths of a second. More than the writer leaves pending, so only an import or a crash exceeds it. */
export const MAX_UNINDEXED_READ = 20_000;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 200;

/** Messages of people and answers. Tool output would be larger than all of them. */
export function isIndexedRole(role: Role | undefined): boolean {
  return role === "user" || role === "assistant";
}

export function searchMessages(db: Db, input: SearchRequest): Hit[] {
  const query = parseQuery(input.text);
  if (query.alternatives.length === 0) return [];
  const sessions = buildSessionScope(input);
  const found = [
    ...db.index.findMatches(db, query, sessions, MAX_RANKED_HITS),
    ...findUnindexedHits(db, query, sessions),
  ];
  // New messages that are not indexed yet come first, then the best hits, and of equals the newest.
  found.sort((a, b) => a.rank - b.rank || b.id - a.id);
  const limit = Math.max(1, Math.min(MAX_LIMIT, input.limit ?? DEFAULT_LIMIT));
  const hits: Hit[] = [];
  let skip = input.offset ?? 0;
  for (const { id } of found) {
    if (hits.length === limit) break;
    const hit = toHit(db, id, query, input);
    if (hit === undefined) continue;
    if (skip > 0) skip -= 1;
    else hits.push(hit);
  }
  return hits;
}

/**
 * The requested sessions, and those that they show, as a fork shows messages of its origin. `findShowingSession` decides
 * for each message whether and in which session it is visible.
 */
function buildSessionScope(input: SearchRequest): SessionScope {
  const { where, values } = buildVisibleCondition(input.asker);
  const conditions = [where];
  const bound: unknown[] = [...values];
  for (const [column, names] of [
    ["id", input.session === undefined ? undefined : [input.session]],
    ["platform", input.platforms],
    ["kind", input.kinds],
  ] as const) {
    if (names === undefined) continue;
    conditions.push(buildOneOfCondition(column, names.length));
    bound.push(...names);
  }
  return { numbers: buildSearchScopeSql(conditions), values: [...bound, ...bound] };
}

/** Reads messages that are not indexed yet, the sessions with the latest activity first, up to a limit per search. */
function findUnindexedHits(db: Db, query: SearchQuery, { numbers, values }: SessionScope): RankedHit[] {
  const pending = db.all<Pick<SessionRow, "n" | "indexed_seq">>(buildUnindexedInScopeSql(numbers), ...values);
  const hits: RankedHit[] = [];
  let left = MAX_UNINDEXED_READ;
  for (const { n, indexed_seq } of pending) {
    if (left <= 0) break;
    const rows = db.rows(
      newestUnindexedMessagesSql,
      toMessageId(n, indexed_seq + 1),
      toMessageId(n, SEQS_PER_SESSION - 1),
      left,
    );
    left -= rows.length;
    for (const [id, role, text] of rows) {
      if (text === null || !isIndexedRole(ROLES[role as number])) continue;
      if (matchesQuery(query, extractTerms(text as string)))
        hits.push({ id: id as number, rank: Number.NEGATIVE_INFINITY });
    }
  }
  return hits;
}

/** The number of messages that a search like this omits: the oldest of those that are not indexed. */
export function countUnindexed(db: Db, input: SearchRequest): number {
  const { numbers, values } = buildSessionScope(input);
  const pending = db.get<{ n: number }>(buildCountUnindexedSql(numbers), ...values);
  return Math.max(0, (pending?.n ?? 0) - MAX_UNINDEXED_READ);
}

interface HitRow {
  at: number;
  role: number;
  text: string | null;
}

function toHit(db: Db, id: number, query: SearchQuery, input: SearchRequest): Hit | undefined {
  const message = db.get<HitRow>(messageByIdSql, id);
  const role = message && ROLES[message.role];
  if (message === undefined || role === undefined) return undefined;
  if (input.roles !== undefined && !input.roles.includes(role)) return undefined;
  const n = Math.floor(id / SEQS_PER_SESSION);
  const seq = id % SEQS_PER_SESSION;
  const session = findShowingSession(db, n, seq, input);
  if (session === undefined) return undefined;
  const before = readNeighbour(db, n, seq - 1, input);
  const after = readNeighbour(db, n, seq + 1, input);
  return {
    session: session.id,
    handle: session.handle,
    ...(session.title !== null && { title: session.title }),
    ...(session.platform !== null && { platform: session.platform }),
    seq,
    at: message.at,
    role,
    snippet: buildSnippet(message.text ?? "", query),
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  };
}

/** The session that shows a message: its own, or a fork if its own has hidden or removed it. */
function findShowingSession(db: Db, n: number, seq: number, input: SearchRequest): SessionRow | undefined {
  const isRequested = (row: SessionRow): boolean =>
    (input.session === undefined || row.id === input.session) && isVisible(input.asker, row);
  const own = db.get<SessionRow>(sessionByNumberSql, n);
  const found = own !== undefined && own.removed_at === null && isRequested(own);
  if (found && (input.undone === true || db.get(hiddenMessageSql, n, seq, seq) === undefined)) return own;
  return db.all<SessionRow>(sessionsShowingMessageSql, n, seq, seq).find(isRequested);
}

/** The message before or after a hit, if the asker may see it. */
function readNeighbour(db: Db, n: number, seq: number, input: SearchRequest): SearchNeighbour | undefined {
  const row = seq < 1 ? undefined : db.get<HitRow>(messageByIdSql, toMessageId(n, seq));
  const role = row && ROLES[row.role];
  if (role === undefined || findShowingSession(db, n, seq, input) === undefined) return undefined;
  return { role, text: shortenNeighbour(row?.text ?? "") };
}

/** Adds up to `limit` pending messages to the index. Returns the number of rows read: less than `limit` = all done. */
export function indexMessages(db: Db, limit: number): number {
  let done = 0;
  for (const session of db.all<Pick<SessionRow, "n" | "indexed_seq" | "next_seq">>(
    unindexedSessionsSql,
    limit,
  )) {
    const room = limit - done;
    const rows = db.rows(
      unindexedMessagesSql,
      toMessageId(session.n, session.indexed_seq + 1),
      toMessageId(session.n, session.next_seq - 1),
      room,
    );
    for (const [id, role, text] of rows) {
      const terms = isIndexedRole(ROLES[role as number]) ? buildIndexText((text as string | null) ?? "") : "";
      if (terms !== "") db.index.addWords(db, id as number, terms);
    }
    // Not the number of rows: a removed session that a fork shows has gaps.
    const last = rows.length < room ? undefined : rows.at(-1);
    const upTo = last === undefined ? session.next_seq - 1 : (last[0] as number) % SEQS_PER_SESSION;
    db.send(setIndexedSeqSql, upTo, session.n);
    done += rows.length;
    if (done >= limit) break;
  }
  return done;
}

/** Removes all words from the index; every message is pending again. */
export function clearIndex(db: Db): void {
  db.index.removeAllWords(db);
  db.send(clearIndexedSeqsSql);
}
