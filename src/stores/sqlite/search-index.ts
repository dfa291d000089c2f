import { toFts5 } from "../../core/fts5-query.ts";
import type { SearchIndex } from "../sql/db.ts";

const insertWordsSql = "insert into words (rowid, terms) values (?, ?)";
const deleteWordsSql = "insert into words (words, rowid, terms) values ('delete', ?, ?)";
const deleteAllWordsSql = "insert into words(words) values ('delete-all')";
const rankedWordsSql = "select rowid, bm25(words) from words where words match ? and rowid >= ?";

/** The full-text index of SQLite, FTS5. */
export const sqliteIndex: SearchIndex = {
  findMatches(db, query, { numbers, values }, limit) {
    const expression = toFts5(query);
    if (expression === undefined) return [];
    const newest = db.all<{ rowid: number }>(
      `select rowid from words where words match ? and (rowid >> 24) in (${numbers}) order by rowid desc limit ?`,
      expression,
      ...values,
      limit,
    );
    const oldest = newest.at(-1);
    if (oldest === undefined) return [];
    const rows = db.rows(rankedWordsSql, expression, oldest.rowid);
    const ranks = new Map(rows.map((row) => [row[0] as number, row[1] as number]));
    return newest.map(({ rowid }) => ({ id: rowid, rank: ranks.get(rowid) ?? 0 }));
  },
  addWords(db, message, terms) {
    db.send(insertWordsSql, message, terms);
  },
  removeWords(db, message, terms) {
    db.send(deleteWordsSql, message, terms);
  },
  removeAllWords(db) {
    db.send(deleteAllWordsSql);
  },
};
