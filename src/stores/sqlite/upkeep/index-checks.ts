import { extractTerms } from "../../../core/search-terms.ts";
import type { Db } from "../connection.ts";
import { type Finding, formatCount, reportFixable, reportOk } from "./findings.ts";
import type { MessageSurvey } from "./message-survey.ts";

/** The index keeps a row for each text it holds; these are the messages that must have one. */
const INDEXED_MESSAGES_SQL = `
messages m join sessions s on s.n = m.id >> 24
where m.role in (0, 1) and m.text is not null and (m.id & 16777215) <= s.indexed_seq`;

/** Whether every message that should be found is in the index, and nothing else. `full` compares every word. */
export function checkIndex(db: Db, { index: { missing, extra } }: MessageSurvey, full: boolean): Finding {
  const wrong = missing + extra === 0 && full ? countWronglyIndexed(db) : 0;
  const parts = [
    ...(missing > 0 ? [`${formatCount(missing, "message")} missing`] : []),
    ...(extra > 0 ? [`${formatCount(extra, "text")} that no message has`] : []),
    ...(wrong > 0 ? [`${formatCount(wrong, "message")} with other words than were said`] : []),
  ];
  if (parts.length > 0)
    return reportFixable("search_index", `The search index is wrong: ${parts.join(", ")}.`);
  const waiting = db.get<{ n: number }>(
    "select coalesce(sum(next_seq - 1 - indexed_seq), 0) as n from sessions where indexed_seq < next_seq - 1",
  )?.n;
  const rest = waiting ? `; ${formatCount(waiting, "message")} wait for it and are found all the same` : "";
  return reportOk("search_index", `The search index holds every message${rest}.`);
}

/**
 * The index without its texts cannot say what a message's words were, but it can list where each word stands. Words
 * with their places, summed up by message, are the same from both sides or something is wrong.
 */
function countWronglyIndexed(db: Db): number {
  const sums = new Map<number, number>();
  const add = (id: number, term: string, place: number): void => {
    sums.set(id, ((sums.get(id) ?? 0) + hashTerm(term, place)) >>> 0);
  };
  db.exec("create virtual table temp.placed_words using fts5vocab('main', 'words', 'instance')");
  try {
    for (const [term, doc, place] of db.each("select term, doc, offset from temp.placed_words"))
      add(doc as number, term as string, place as number);
  } finally {
    db.exec("drop table temp.placed_words");
  }
  let wrong = 0;
  for (const [id, text] of db.each(`select m.id, m.text from ${INDEXED_MESSAGES_SQL}`)) {
    let sum = 0;
    for (const [place, term] of extractTerms(text as string).entries())
      sum = (sum + hashTerm(term, place)) >>> 0;
    if (sum !== (sums.get(id as number) ?? 0)) wrong += 1;
  }
  return wrong;
}

/** FNV-1a over the word, then its place. */
function hashTerm(term: string, place: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at += 1) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  return Math.imul(hash ^ (place + 0x9e3779b9), 0x85ebca6b) >>> 0;
}
