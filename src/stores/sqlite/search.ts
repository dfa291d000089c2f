import type { Hit, SearchNeighbour, SearchRequest } from "../../core/listing.ts";
import { ROLES, type Role } from "../../core/message.ts";
import { matchesQuery, parseQuery, type SearchQuery, toFts5 } from "../../core/search-query.ts";
import { buildIndexText, extractTerms } from "../../core/search-terms.ts";
import { buildSnippet, shortenNeighbour } from "../../core/snippet.ts";
import type { Db } from "./connection.ts";
import { SEQS_PER_SESSION, type SessionRow, toMessageId } from "./rows.ts";
import * as sql from "./sql.ts";
import { buildVisibleCondition, isVisible } from "./visibility.ts";

/** Ranking costs time for every hit, and a common word has more hits than anyone reads: only the newest count. */
const MAX_RANKED_HITS = 2000;
/** Read in some tenths of a second. More than the writer leaves waiting, so that only an import or a crash exceeds it. */
export const MAX_UNINDEXED_READ = 20_000;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 200;

/** What people wrote and read. Tool output would outgrow everything they said. */
export function isIndexedRole(role: Role | undefined): boolean {
  return role === "user" || role === "assistant";
}

interface RankedHit {
  readonly id: number;
  /** bm25: lower is better. */
  readonly rank: number;
}

export function searchMessages(db: Db, input: SearchRequest): Hit[] {
  const query = parseQuery(input.text);
  const expression = toFts5(query);
  if (expression === undefined) return [];
  const sessions = buildSessionScope(input);
  const found = [...findIndexedHits(db, expression, sessions), ...findUnindexedHits(db, query, sessions)];
  // What was said a moment ago and is not indexed yet comes first, then the best, the newest first among equals.
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

interface SessionScope {
  /** A query for the numbers of the sessions in whose messages to look. */
  readonly numbers: string;
  readonly values: readonly unknown[];
}

/**
 * The sessions that are asked for, and those of which they show something, as a fork shows its origin's words. What
 * of these may be seen, and in which session, `findIn` decides for each message.
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
    conditions.push(`s.${column} in (${names.map(() => "?").join(", ") || "null"})`);
    bound.push(...names);
  }
  const asked = conditions.join(" and ");
  const numbers = `
select s.n from sessions s where ${asked}
union select p.piece_session from pieces p join sessions s on s.n = p.session and s.version = p.version
where p.piece_session <> p.session and ${asked}`;
  return { numbers, values: [...bound, ...bound] };
}

function findIndexedHits(db: Db, expression: string, { numbers, values }: SessionScope): RankedHit[] {
  const newest = db.all<{ rowid: number }>(
    `select rowid from words where words match ? and (rowid >> 24) in (${numbers})
     order by rowid desc limit ${MAX_RANKED_HITS}`,
    expression,
    ...values,
  );
  const oldest = newest.at(-1);
  if (oldest === undefined) return [];
  const ranks = new Map(
    db
      .rows(
        "select rowid, bm25(words) from words where words match ? and rowid >= ?",
        expression,
        oldest.rowid,
      )
      .map((row) => [row[0] as number, row[1] as number]),
  );
  return newest.map(({ rowid }) => ({ id: rowid, rank: ranks.get(rowid) ?? 0 }));
}

/** What is not indexed yet is read, the sessions that were spoken in last first, and no more than one search may read. */
function findUnindexedHits(db: Db, query: SearchQuery, { numbers, values }: SessionScope): RankedHit[] {
  const pending = db.all<Pick<SessionRow, "n" | "indexed_seq">>(
    `select s.n, s.indexed_seq from sessions s where s.indexed_seq < s.next_seq - 1 and s.n in (${numbers})
     order by s.last_at desc`,
    ...values,
  );
  const hits: RankedHit[] = [];
  let left = MAX_UNINDEXED_READ;
  for (const { n, indexed_seq } of pending) {
    if (left <= 0) break;
    const rows = db.rows(
      `select id, role, text from messages where id between ? and ? order by id desc limit ?`,
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

/** How many messages a search like this leaves out: the oldest of those that the index does not have yet. */
export function countUnindexed(db: Db, input: SearchRequest): number {
  const { numbers, values } = buildSessionScope(input);
  const waiting = db.get<{ n: number }>(
    `select coalesce(sum(s.next_seq - 1 - s.indexed_seq), 0) as n from sessions s
     where s.indexed_seq < s.next_seq - 1 and s.n in (${numbers})`,
    ...values,
  );
  return Math.max(0, (waiting?.n ?? 0) - MAX_UNINDEXED_READ);
}

interface HitRow {
  at: number;
  role: number;
  text: string | null;
}

const messageByIdSql = "select at, role, text from messages where id = ?";
const hiddenMessageSql = "select 1 from hidden where session = ? and from_seq <= ? and to_seq >= ?";
const showingSessionsSql = `
select s.* from pieces p join sessions s on s.n = p.session and s.version = p.version
where p.piece_session = ? and p.piece_session <> p.session and p.from_seq <= ? and p.to_seq >= ?`;

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

/** The session in which a message is found: its own, or a fork that shows it when its own took it back or is gone. */
function findShowingSession(db: Db, n: number, seq: number, input: SearchRequest): SessionRow | undefined {
  const asked = (row: SessionRow): boolean =>
    (input.session === undefined || row.id === input.session) && isVisible(input.asker, row);
  const own = db.get<SessionRow>(sql.sessionByNumberSql, n);
  const found = own !== undefined && own.removed_at === null && asked(own);
  if (found && (input.undone === true || db.get(hiddenMessageSql, n, seq, seq) === undefined)) return own;
  return db.all<SessionRow>(showingSessionsSql, n, seq, seq).find(asked);
}

/** What was said just before or after, if the asker may see that too. */
function readNeighbour(db: Db, n: number, seq: number, input: SearchRequest): SearchNeighbour | undefined {
  const row = seq < 1 ? undefined : db.get<HitRow>(messageByIdSql, toMessageId(n, seq));
  const role = row && ROLES[row.role];
  if (role === undefined || findShowingSession(db, n, seq, input) === undefined) return undefined;
  return { role, text: shortenNeighbour(row?.text ?? "") };
}

/** Puts up to `limit` waiting messages into the index. Returns how many it looked at: less than `limit` = all done. */
export function indexMessages(db: Db, limit: number): number {
  let done = 0;
  for (const session of db.all<Pick<SessionRow, "n" | "indexed_seq" | "next_seq">>(
    sql.unindexedSessionsSql,
    limit,
  )) {
    const room = limit - done;
    const rows = db.rows(
      sql.unindexedMessagesSql,
      toMessageId(session.n, session.indexed_seq + 1),
      toMessageId(session.n, session.next_seq - 1),
      room,
    );
    for (const [id, role, text] of rows) {
      const terms = isIndexedRole(ROLES[role as number]) ? buildIndexText((text as string | null) ?? "") : "";
      if (terms !== "") db.run(sql.insertWordsSql, id, terms);
    }
    // Not counted by rows: a removed session of which a fork shows a part has gaps.
    const last = rows.length < room ? undefined : rows.at(-1);
    const upTo = last === undefined ? session.next_seq - 1 : (last[0] as number) % SEQS_PER_SESSION;
    db.run(sql.setIndexedSeqSql, upTo, session.n);
    done += rows.length;
    if (done >= limit) break;
  }
  return done;
}

/** Takes every word out of the index at once; every message waits for it again. */
export function clearIndex(db: Db): void {
  db.run("insert into words(words) values ('delete-all')");
  db.run("update sessions set indexed_seq = 0 where indexed_seq > 0");
}
