import { extractTerms } from "../../../core/search-terms.ts";
import type { SqliteDb } from "../connection.ts";
import { type Finding, formatCount, reportFixable, reportOk } from "./findings.ts";
import type { MessageSurvey } from "./message-survey.ts";

/** The index has a row for each text; these messages must have one. */
const INDEXED_MESSAGES_SQL = `
messages m join sessions s on s.n = m.id >> 24
where m.role in (0, 1) and m.text is not null and (m.id & 16777215) <= s.indexed_seq`;

/** Whether the index contains exactly the messages that it should. `full` compares every word. */
export function checkIndex(
  db: SqliteDb,
  { index: { missing, extra } }: MessageSurvey,
  full: boolean,
): Finding {
  const wrong = missing + extra === 0 && full ? countWronglyIndexed(db) : 0;
  const parts = [
    ...(missing > 0 ? [`${formatCount(missing, "message")} missing`] : []),
    ...(extra > 0 ? [`${formatCount(extra, "text")} without a message`] : []),
    ...(wrong > 0 ? [`${formatCount(wrong, "message")} with wrong words`] : []),
  ];
  if (parts.length > 0)
    return reportFixable("search_index", `The search index is wrong: ${parts.join(", ")}.`);
  const pending = db.get<{ n: number }>(
    "select coalesce(sum(next_seq - 1 - indexed_seq), 0) as n from sessions where indexed_seq < next_seq - 1",
  )?.n;
  const rest = pending ? `; ${formatCount(pending, "message")} not indexed yet, but searched anyway` : "";
  return reportOk("search_index", `The search index contains every message${rest}.`);
}

/**
 * An index without texts cannot return the words of a message, but it can list the positions of each word. The hashes of
 * words with positions, summed by message, must be the same on both sides.
 */
function countWronglyIndexed(db: SqliteDb): number {
  const sums = new Map<number, number>();
  const add = (id: number, term: string, position: number): void => {
    sums.set(id, ((sums.get(id) ?? 0) + hashTerm(term, position)) >>> 0);
  };
  db.exec("create virtual table temp.placed_words using fts5vocab('main', 'words', 'instance')");
  try {
    for (const [term, doc, position] of db.each("select term, doc, offset from temp.placed_words"))
      add(doc as number, term as string, position as number);
  } finally {
    db.exec("drop table temp.placed_words");
  }
  let wrong = 0;
  for (const [id, text] of db.each(`select m.id, m.text from ${INDEXED_MESSAGES_SQL}`)) {
    let sum = 0;
    for (const [position, term] of extractTerms(text as string).entries())
      sum = (sum + hashTerm(term, position)) >>> 0;
    if (sum !== (sums.get(id as number) ?? 0)) wrong += 1;
  }
  return wrong;
}

/** FNV-1a over the word, then its position. */
function hashTerm(term: string, position: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at += 1) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  return Math.imul(hash ^ (position + 0x9e3779b9), 0x85ebca6b) >>> 0;
}
