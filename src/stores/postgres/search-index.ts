import { findClause, matchesQuery, type SearchClause, type SearchQuery } from "../../core/search-query.ts";
import { extractTerms } from "../../core/search-terms.ts";
import type { SessionScope } from "../sql/db.ts";
import type { Db, SearchIndex } from "../sql-async/generated/db.ts";
import { type Match, rankMatches } from "./rank-matches.ts";
import { buildTsquery, buildTsvector, listClauses } from "./tsquery.ts";

const insertWordsSql = `
insert into words (message, length, terms) values (?, ?, ?::tsvector)
on conflict (message) do update set length = excluded.length, terms = excluded.terms`;
const deleteWordsSql = "delete from words where message = ?";
const deleteAllWordsSql = "delete from words";
const frequenciesSql = `
select w.message, t.lexeme, coalesce(array_length(t.positions, 1), 1) as count
from words w cross join lateral unnest(w.terms) as t
where w.message = any(?::bigint[]) and (t.lexeme = any(?::text[])
  or exists (select 1 from unnest(?::text[]) as prefix where starts_with(t.lexeme, prefix)))`;
const textsSql = "select id, text from messages where id = any(?::bigint[])";

/** Of candidates for a phrase, the texts are read: fewer at a time, and not more than this in all. */
const PHRASE_BATCH = 200;
const MAX_TEXTS_READ = 20_000;

/** The full-text index of PostgreSQL over the terms of the core. The position of a term ends at 16,383: not used. */
export const postgresIndex: SearchIndex = {
  async findMatches(db, query, sessions, limit) {
    const expression = buildTsquery(query);
    if (expression === undefined) return [];
    const matches = hasPhrase(query)
      ? await findPhrases(db, query, expression, sessions, limit)
      : await findWords(db, query, expression, sessions, limit);
    return rankMatches(matches);
  },
  async addWords(db, message, terms) {
    const list = terms.split(" ");
    await db.send(insertWordsSql, message, list.length, buildTsvector(list));
  },
  async removeWords(db, message) {
    await db.send(deleteWordsSql, message);
  },
  async removeAllWords(db) {
    await db.send(deleteAllWordsSql);
  },
};

/** Also an excluded one: the expression does not contain it. */
function hasPhrase({ alternatives }: SearchQuery): boolean {
  return alternatives.some(({ required, excluded }) =>
    [...required, ...excluded].some(({ terms }) => terms.length > 1),
  );
}

interface Candidate {
  readonly message: number;
  readonly length: number;
}

/** The newest messages before one that have all required terms, in any order. */
async function findCandidates(
  db: Db,
  expression: string,
  { numbers, values }: SessionScope,
  before: number,
  limit: number,
): Promise<Candidate[]> {
  const sql = `
select w.message, w.length from words w where w.terms @@ ?::tsquery and w.message < ? and (w.message >> 24) in (${numbers})
order by w.message desc limit ?`;
  return db.all<Candidate>(sql, expression, before, ...values, limit);
}

async function findWords(
  db: Db,
  query: SearchQuery,
  expression: string,
  sessions: SessionScope,
  limit: number,
): Promise<Match[]> {
  const candidates = await findCandidates(db, expression, sessions, Number.MAX_SAFE_INTEGER, limit);
  const clauses = listClauses(query);
  const select = (isPrefix: boolean): string[] =>
    clauses.filter(({ prefix }) => prefix === isPrefix).flatMap(({ terms }) => terms);
  const rows = await db.all<{ message: number; lexeme: string; count: number }>(
    frequenciesSql,
    candidates.map(({ message }) => message),
    select(false),
    select(true),
  );
  const frequencies = new Map<number, number[]>();
  for (const { message, lexeme, count } of rows) {
    const counts = frequencies.get(message) ?? clauses.map(() => 0);
    frequencies.set(message, counts);
    clauses.forEach(({ terms: [term = ""], prefix }, index) => {
      if (prefix ? lexeme.startsWith(term) : lexeme === term) counts[index] = (counts[index] ?? 0) + count;
    });
  }
  return candidates.map(({ message, length }) => ({
    id: message,
    length,
    counts: frequencies.get(message) ?? [],
  }));
}

/** The index finds messages with all terms of a phrase; only their texts show the order. */
async function findPhrases(
  db: Db,
  query: SearchQuery,
  expression: string,
  sessions: SessionScope,
  limit: number,
): Promise<Match[]> {
  const clauses = listClauses(query);
  const matches: Match[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  for (let read = 0; read < MAX_TEXTS_READ && matches.length < limit; read += PHRASE_BATCH) {
    const candidates = await findCandidates(db, expression, sessions, before, PHRASE_BATCH);
    const rows = await db.all<{ id: number; text: string | null }>(
      textsSql,
      candidates.map(({ message }) => message),
    );
    const texts = new Map(rows.map(({ id, text }) => [id, text ?? ""]));
    for (const { message, length } of candidates) {
      const terms = extractTerms(texts.get(message) ?? "");
      if (!matchesQuery(query, terms)) continue;
      matches.push({ id: message, length, counts: clauses.map((clause) => countClause(clause, terms)) });
    }
    before = candidates.at(-1)?.message ?? 0;
    if (candidates.length < PHRASE_BATCH) break;
  }
  return matches.slice(0, limit);
}

function countClause(clause: SearchClause, terms: readonly string[]): number {
  let count = 0;
  for (let at = findClause(clause, terms, 0); at >= 0; at = findClause(clause, terms, at + 1)) count += 1;
  return count;
}
