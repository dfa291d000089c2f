import { toFts5 } from "../../core/search-query.js";
const insertWordsSql = "insert into words (rowid, terms) values (?, ?)";
const deleteWordsSql = "insert into words (words, rowid, terms) values ('delete', ?, ?)";
const deleteAllWordsSql = "insert into words(words) values ('delete-all')";
const rankedWordsSql = "select rowid, bm25(words) from words where words match ? and rowid >= ?";
/** The full-text index of SQLite, FTS5. */
export const sqliteIndex = {
    findMatches(db, query, { numbers, values }, limit) {
        const expression = toFts5(query);
        if (expression === undefined)
            return [];
        const newest = db.all(`select rowid from words where words match ? and (rowid >> 24) in (${numbers}) order by rowid desc limit ?`, expression, ...values, limit);
        const oldest = newest.at(-1);
        if (oldest === undefined)
            return [];
        const rows = db.rows(rankedWordsSql, expression, oldest.rowid);
        const ranks = new Map(rows.map((row) => [row[0], row[1]]));
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
